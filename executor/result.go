package executor

import "context"

type Result[T any] interface {
	Envelope() Envelope
	sealed(T)
}

type Usable[T any] interface {
	Result[T]
	Value() T
}

type (
	OK[T any] struct {
		value    T
		envelope Envelope
	}
	Degraded[T any] struct {
		value    T
		envelope Envelope
	}
	Abstained[T any] struct {
		value    T
		envelope Envelope
	}
	Failed[T any] struct{ envelope Envelope }
)

func (r OK[T]) Envelope() Envelope        { return r.envelope }
func (r Degraded[T]) Envelope() Envelope  { return r.envelope }
func (r Abstained[T]) Envelope() Envelope { return r.envelope }
func (r Failed[T]) Envelope() Envelope    { return r.envelope }
func (r OK[T]) Value() T                  { return r.value }
func (r Degraded[T]) Value() T            { return r.value }
func (r Abstained[T]) Value() T           { return r.value }
func (OK[T]) sealed(T)                    {}
func (Degraded[T]) sealed(T)              {}
func (Abstained[T]) sealed(T)             {}
func (Failed[T]) sealed(T)                {}

func Match[T, R any](r Result[T], ok func(OK[T]) R, degraded func(Degraded[T]) R, abstained func(Abstained[T]) R, failed func(Failed[T]) R) R {
	panic("unbuilt")
}

func Run[T any](ctx context.Context, s Step[T]) (Result[T], error) { panic("unbuilt") }
func Classify(err error) Failure                                   { panic("unbuilt") }
func Worst(os ...Outcome) Outcome                                  { panic("unbuilt") }
func Strays() int64                                                { return 0 }
func (o Outcome) String() string                                   { panic("unbuilt") }
func (c FailureClass) String() string                              { panic("unbuilt") }
func (f Failure) Error() string                                    { return f.Class.String() }
func (f Failure) Unwrap() error                                    { return f.Err }
func (p *Parked) Error() string                                    { return "parked" }
