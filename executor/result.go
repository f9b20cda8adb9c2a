package executor

// Result is how a step ended: an [OK], [Degraded], [Abstained] or [Failed], and nothing else. Take it
// apart with [Match], which the compiler checks for completeness, or by a type switch; a value can be
// read only off what is [Usable].
//
// A result prints, logs and encodes as its envelope, whatever verb or encoder is used. It cannot be
// decoded. Results are made by [Run] alone; they are immutable and safe for many goroutines.
type Result[T any] interface {
	// Envelope returns what may be logged of the step.
	Envelope() Envelope
	// sealed mentions T, or an OK[string] would pass as a Result[int].
	sealed(T)
}

// Usable is a result that has a value: every one but [Failed].
type Usable[T any] interface {
	Result[T]
	// Value returns the value. It is content: it belongs into no log.
	Value() T
}

// The marks keep the outcomes from being converted into one another, which Go allows between structs
// with the same fields.
type (
	isOK        struct{}
	isDegraded  struct{}
	isAbstained struct{}
	isFailed    struct{}
)

// OK is the result of a step whose last attempt succeeded. The zero value belongs to no step.
type OK[T any] struct {
	_ [0]isOK
	usable[T]
}

// Degraded is the result of a step whose attempts failed and whose value comes from Step.Degrade.
// Its envelope keeps the failure class of the last attempt. The zero value belongs to no step.
type Degraded[T any] struct {
	_ [0]isDegraded
	usable[T]
}

// Abstained is the result of a step that had nothing to do. Its value comes from the pair given to
// [AbstainWhen]; no attempt was made. The zero value belongs to no step.
type Abstained[T any] struct {
	_ [0]isAbstained
	usable[T]
}

// Failed is the result of a step that has no value. The zero value belongs to no step.
type Failed[T any] struct {
	_ [0]isFailed
	held[T]
}

// Match calls the one function that r asks for and returns what that returns. All four are required.
// It panics when r is nil, as it is beside an error of [Run], or when r was not made by Run.
func Match[T, R any](
	r Result[T],
	ok func(OK[T]) R,
	degraded func(Degraded[T]) R,
	abstained func(Abstained[T]) R,
	failed func(Failed[T]) R,
) R {
	switch r := r.(type) {
	case OK[T]:
		return ok(r)
	case Degraded[T]:
		return degraded(r)
	case Abstained[T]:
		return abstained(r)
	case Failed[T]:
		return failed(r)
	default:
		panic("executor: Match of a result that Run did not make")
	}
}

// record is what a result points to.
type record[T any] struct {
	self     *record[T]
	envelope Envelope
	value    T
}

// held is what all results share. It points to the record's own pointer to itself, because printers
// call no method on unexported fields: a result in somebody's unexported field is printed by
// reflection. Package fmt follows a pointer to a struct when the verb is wrong, as %s is for a struct,
// but never a pointer to a pointer.
type held[T any] struct{ p **record[T] }

// hold makes a result's record. A FAILED step's value is the zero T, which nobody can ask for.
func hold[T any](e Envelope, value T) held[T] {
	r := &record[T]{envelope: e, value: value}
	r.self = r
	return held[T]{&r.self}
}

func (held[T]) sealed(T) {}

// Envelope returns what may be logged of the step.
func (h held[T]) Envelope() Envelope {
	if h.p == nil {
		return Envelope{}
	}
	return (*h.p).envelope
}

// usable adds the value to what all results share.
type usable[T any] struct{ held[T] }

// Value returns the value. It is content: it belongs into no log.
func (u usable[T]) Value() T {
	if u.p == nil {
		var zero T
		return zero
	}
	return (*u.p).value
}
