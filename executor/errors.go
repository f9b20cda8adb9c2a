package executor

import (
	"context"
	"errors"
	"reflect"
	"time"
)

// ErrInterrupted is matched by the error of [Run] when the caller's context ended before there was a
// value. That is no outcome: the step may be delivered again.
var ErrInterrupted = errors.New("executor: interrupted")

// InterruptedError is the error of [Run] that matches [ErrInterrupted] and wraps the [context.Cause] of
// the caller's context. Its text is fixed.
type InterruptedError struct {
	// Spent is what a later delivery may pass in Step.Spent so that attempts, usage and latency
	// continue. The attempt that was cut is not counted as made.
	Spent Spent
	cause func() error // a function, so that no printer finds the cause by reflection
}

// Error returns the text of [ErrInterrupted].
func (e *InterruptedError) Error() string { return ErrInterrupted.Error() }

// Unwrap returns ErrInterrupted and the cause.
func (e *InterruptedError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrInterrupted}
	}
	return []error{ErrInterrupted, e.cause()}
}

func interrupted(ctx context.Context, spent Spent) error {
	cause := context.Cause(ctx)
	return &InterruptedError{Spent: spent, cause: func() error { return cause }}
}

// Parked is returned by an attempt that was not made, because the provider must not be called before
// NotBefore (a limit or a closed provider), and by [Run], for such an attempt or because the next one is further
// away than Step.Patience, then with what was spent so far, for the next delivery to pass in Step.Spent. It is no
// outcome. An attempt leaves Spent zero.
type Parked struct {
	NotBefore time.Time
	Spent     Spent
	// Class says what is waited for: it is that of the attempt that Run parks after, or what an attempt that was not made says:
	// upstream-5xx of a provider that is down, upstream-4xx of a limit. None: not said.
	Class FailureClass
}

// Error returns a fixed text.
func (p *Parked) Error() string { return "executor: parked" }

// InvalidStepError is the error of [Run] for a step that lacks something or contradicts itself. No
// attempt was made, and none will be until the program is mended.
type InvalidStepError struct {
	Step    StepID // zero when that is what lacks
	Problem string // a fixed text that names the field
}

// Error names the step and the field.
func (e *InvalidStepError) Error() string {
	return "executor: invalid step " + e.Step.String() + ": " + e.Problem
}

// PanicError is the failure of a function that panicked, or that ended its goroutine. It keeps the type
// of the panic value alone; the value may hold content.
type PanicError struct {
	Type string // such as runtime.boundsError; runtime.Goexit when the goroutine was ended
}

// Error names the type of the panic value.
func (e *PanicError) Error() string { return "executor: panic of type " + e.Type }

// Failure says that a panic is parse, as all that is unknown, and that it is not retried: a bug in the
// step is not the model's.
func (e *PanicError) Failure() Failure {
	return Failure{Class: ClassParse, Retry: RetryNo, Err: e}
}

// panicked returns the failure of a function that did not return, given what recover said.
func panicked(recovered any) Failure {
	if recovered == nil {
		return (&PanicError{Type: "runtime.Goexit"}).Failure()
	}
	return (&PanicError{Type: typeName(reflect.TypeOf(recovered))}).Failure()
}

// typeName names t if it, or what it points to, has a name. The text of a type without one may hold
// field tags, which need not be constants; its kind is enough then.
func typeName(t reflect.Type) string {
	if t.Name() != "" || t.Kind() == reflect.Pointer && t.Elem().Name() != "" {
		return t.String()
	}
	return t.Kind().String()
}
