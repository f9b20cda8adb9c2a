package executor

// ask asks both questions of the pair, the second only after a yes.
func (a Abstain[T]) ask() (value T, abstained bool, failure Failure) {
	abstained, failure = contain(a.on)
	if abstained && failure.Class == ClassNone {
		value, failure = contain(a.to)
	}
	return value, abstained, failure
}

// tell tells the step's owner about a failure. A panic there changes nothing.
func (s *Step[T]) tell(attempt int, f Failure) {
	if s.OnFailure == nil {
		return
	}
	defer func() { _ = recover() }()
	s.OnFailure(attempt, f)
}

// contain calls f; a panic becomes a failure.
func contain[V any](f func() V) (v V, failure Failure) {
	defer func() {
		if r := recover(); r != nil {
			failure = panicked(r)
		}
	}()
	return f(), Failure{}
}
