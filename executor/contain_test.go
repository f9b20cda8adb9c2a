package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"fourfold/content/contenttest"
	"fourfold/executor"
)

// bomb is an error whose methods panic.
type bomb struct{}

func (bomb) Error() string   { panic(contenttest.Canary) }
func (bomb) Unwrap() error   { panic(contenttest.Canary) }
func (bomb) Is(error) bool   { panic(contenttest.Canary) }
func (bomb) Timeout() bool   { panic(contenttest.Canary) }
func (bomb) As(any) bool     { panic(contenttest.Canary) }
func (bomb) Temporary() bool { panic(contenttest.Canary) }

func TestPanicsAreContainedAndKeepTheirTypeAlone(t *testing.T) {
	type valuable struct{ text string }
	values := map[string]any{
		"string":                     contenttest.Canary,
		"*errors.errorString":        errors.New(contenttest.Canary),
		"executor_test.valuable":     valuable{contenttest.Canary},
		"*executor_test.valuable":    &valuable{contenttest.Canary},
		"executor_test.textError":    textError(contenttest.Canary),
		"map":                        map[string]string{"k": contenttest.Canary},
		"struct":                     struct{ Zk7Canary9wQxZeisig4Jd int }{},
		"ptr":                        &struct{ Zk7Canary9wQxZeisig4Jd int }{},
		"*runtime.PanicNilError":     nil,
		"executor_test.generic[int]": generic[int]{},
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plays(func(context.Context) (reply, error) { panic(value) })
				checkContained(t, newStep(p.attempt), name, 1, 1)
				if p.calls() != 1 {
					t.Errorf("%d calls: a bug in the step was retried as if it were the model's", p.calls())
				}
			})
		})
	}
}

type generic[T any] struct{ _ T }

// checkContained runs a step that must end FAILED parse because of one panic.
func checkContained(t *testing.T, s executor.Step[string], typ string, attempts, heard int) {
	t.Helper()
	var failures []string
	s.OnFailure = func(attempt int, f executor.Failure) {
		what := "no panic"
		if p, ok := errors.AsType[*executor.PanicError](f); ok {
			what = p.Type
			if form, found := contenttest.Find(fmt.Sprintf("%v %+v %#v", p, p, p)); found {
				t.Errorf("the error shows the value as %s", form)
			}
		}
		failures = append(failures, fmt.Sprintf("%d %v %s", attempt, f.Class, what))
	}
	e := mustRun(t, s).Envelope()
	if e.Outcome != executor.OutcomeFailed || e.FailureClass != executor.ClassParse || e.Attempts != attempts {
		t.Errorf("got %v, want FAILED parse after %d attempts", e, attempts)
	}
	if diff := cmp.Diff([]string{fmt.Sprintf("%d parse %s", heard, typ)}, failures); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

func TestAnAttemptThatEndsItsGoroutineDoesNotHangRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := executor.Strays()
		checkContained(t, newStep(func(context.Context) (reply, error) {
			runtime.Goexit()
			return reply{}, nil
		}), "runtime.Goexit", 1, 1)
		if got := executor.Strays() - before; got != 0 {
			t.Errorf("%d strays", got)
		}
	})
}

func TestAnErrorThatPanicsWhenAskedIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checkContained(t, newStep(fails(bomb{})), "string", 1, 1)
	})
}

func TestAPanicInAbstainIsFailedBeforeAnyAttempt(t *testing.T) {
	boom := func() string { panic(contenttest.Canary) }
	tests := map[string]executor.Abstain[string]{
		"on": executor.AbstainWhen(func() bool { panic(contenttest.Canary) }, func() string { return "" }),
		"to": executor.AbstainWhen(func() bool { return true }, boom),
	}
	for name, abstain := range tests {
		t.Run(name, func(t *testing.T) {
			p := plays(answers("a"))
			s := newStep(p.attempt)
			s.Abstain, s.Degrade = abstain, func() string { return "not asked: no attempt failed" }
			checkContained(t, s, "string", 0, 0)
			if p.calls() > 0 {
				t.Errorf("%d calls", p.calls())
			}
		})
	}
}

func TestAPanicInDegradeIsFailedAsTheLastAttempt(t *testing.T) {
	s := newStep(failsAs(executor.ClassSchema))
	s.Degrade = func() string { panic(contenttest.Canary) }
	var heard []string
	s.OnFailure = func(attempt int, f executor.Failure) { heard = append(heard, fmt.Sprint(attempt, " ", f.Err)) }
	r := mustRun(t, s)
	if diff := cmp.Diff([]string{"1 executor: attempt failed: schema", "1 executor: panic of type string"}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	want := executor.Envelope{
		Step: stepID, Outcome: executor.OutcomeFailed, FailureClass: executor.ClassSchema,
		Attempts: 1, Latency: r.Envelope().Latency,
	}
	if got := r.Envelope(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A goroutine that panics after Run has left it behind must not kill the process either.
func TestAPanicOfAStrayIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := executor.Strays()
		s := newStep(func(ctx context.Context) (reply, error) {
			<-ctx.Done()
			panic(contenttest.Canary)
		})
		s.Budget.Attempts = 1
		if e := mustRun(t, s).Envelope(); e.FailureClass != executor.ClassTimeout {
			t.Errorf("got %v, want timeout", e)
		}
		synctest.Wait()
		if got := executor.Strays() - before; got != 0 {
			t.Errorf("%d strays", got)
		}
	})
}
