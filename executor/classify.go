package executor

import "time"

// Retry says whether another attempt may follow a failure.
type Retry uint8

// RetryByClass leaves it to the failure class (timeout, parse and upstream-5xx are retried).
const (
	RetryByClass Retry = iota
	RetryYes
	RetryNo
)

// Failure is a classified failure of an attempt. It is an error, so that an attempt may return one
// to state its class itself. Its text is made of Class alone.
type Failure struct {
	Class      FailureClass
	Retry      Retry
	RetryAfter time.Duration // zero: none asked for
	Err        error         // never printed; reached by errors.Is and errors.As
}

// Failing is implemented by errors that know their class (provider errors do).
type Failing interface {
	error
	Failure() Failure
}

// Parked is returned by an attempt that was not made, because the provider must not be called before
// NotBefore (a limit or a closed provider), and by Run, then with what was spent so far. It is no outcome.
type Parked struct {
	NotBefore time.Time
	Spent     Spent
}
