package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
)

// ending is what came of a run, as far as the two ways to run can be compared.
func ending(r executor.Result[string], err error) string {
	if err != nil {
		text := fmt.Sprintf("%v", err)
		if e, ok := errors.AsType[*executor.InterruptedError](err); ok {
			text += fmt.Sprintf(" %+v", e.Spent)
		}
		if e, ok := errors.AsType[*executor.Parked](err); ok {
			text += fmt.Sprintf(" %+v %v", e.Spent, e.Class)
		}
		return text
	}
	return fmt.Sprintf("%T %v", r, r.Envelope())
}

// Start ends as Run does, at the same time, and says so once.
func TestStartEndsAsRunDoes(t *testing.T) {
	fails := executor.Failure{Class: executor.ClassUpstream5xx}
	answer := func(err error) executor.Attempt[string] {
		return func(context.Context) (executor.Reply[string], error) {
			time.Sleep(time.Second)
			return executor.Reply[string]{Value: "v", Model: executor.ModelVersionOf("m"), Usage: executor.Tokens(3, 4)}, err
		}
	}
	deaf := func(context.Context) (executor.Reply[string], error) {
		time.Sleep(time.Hour)
		return executor.Reply[string]{Value: "late"}, nil
	}
	for name, c := range map[string]struct {
		attempts []executor.Attempt[string] // the last one is repeated
		change   func(*executor.Step[string])
		cut      time.Duration // when the caller's context ends; zero: never, below: before
		backoff  time.Duration // zero: as good as none, since it is random
	}{
		"a value":                    {attempts: []executor.Attempt[string]{answer(nil)}},
		"a value after two failures": {attempts: []executor.Attempt[string]{answer(fails), answer(fails), answer(nil)}},
		"failures only":              {attempts: []executor.Attempt[string]{answer(fails)}},
		"a failure that is final":    {attempts: []executor.Attempt[string]{answer(executor.Failure{Class: executor.ClassUpstream4xx})}},
		"degraded": {
			attempts: []executor.Attempt[string]{answer(fails)},
			change:   func(s *executor.Step[string]) { s.Degrade = func() string { return "less" } },
		},
		"abstained": {
			attempts: []executor.Attempt[string]{answer(nil)},
			change: func(s *executor.Step[string]) {
				s.Abstain = executor.AbstainWhen(func() bool { return true }, func() string { return "none" })
			},
		},
		"a question that panics": {
			attempts: []executor.Attempt[string]{answer(nil)},
			change: func(s *executor.Step[string]) {
				s.Abstain = executor.AbstainWhen(func() bool { panic("canary") }, func() string { return "none" })
			},
		},
		"a panic":                          {attempts: []executor.Attempt[string]{func(context.Context) (executor.Reply[string], error) { panic("canary") }}},
		"an attempt that ends its routine": {attempts: []executor.Attempt[string]{func(context.Context) (executor.Reply[string], error) { runtime.Goexit(); panic("never") }}},
		"attempts that ignore their time":  {attempts: []executor.Attempt[string]{deaf}},
		"one that does, and a value":       {attempts: []executor.Attempt[string]{deaf, answer(nil)}},
		"parked": {attempts: []executor.Attempt[string]{answer(fails), func(context.Context) (executor.Reply[string], error) {
			return executor.Reply[string]{}, &executor.Parked{NotBefore: time.Now().Add(time.Hour), Class: executor.ClassUpstream5xx}
		}}},
		"parked after a failure that asks for patience": {
			attempts: []executor.Attempt[string]{answer(executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: 20 * time.Second})},
			change:   func(s *executor.Step[string]) { s.Patience = time.Second },
		},
		"cut before":            {attempts: []executor.Attempt[string]{answer(nil)}, cut: -1},
		"cut in an attempt":     {attempts: []executor.Attempt[string]{answer(fails), deaf}, cut: 5 * time.Second},
		"cut while it pauses":   {attempts: []executor.Attempt[string]{answer(fails)}, cut: 1001 * time.Millisecond, backoff: time.Second},
		"cut when it has ended": {attempts: []executor.Attempt[string]{answer(nil)}, cut: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			play := func(run func(context.Context, executor.Step[string]) (executor.Result[string], error)) (got []string) {
				synctest.Test(t, func(t *testing.T) {
					var made atomic.Int64 // by strays too
					told := 0
					step := executor.Step[string]{
						ID: executor.MustStepID("s"),
						Attempt: func(ctx context.Context) (executor.Reply[string], error) {
							return c.attempts[min(int(made.Add(1)), len(c.attempts))-1](ctx)
						},
						Budget:    executor.Budget{Attempts: 3, PerAttempt: 10 * time.Second, Total: time.Minute, Backoff: max(2, c.backoff)},
						OnFailure: func(int, executor.Failure) { told++ },
					}
					if c.change != nil {
						c.change(&step)
					}
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					switch {
					case c.cut < 0:
						cancel(errors.New("cut"))
					case c.cut > 0:
						time.AfterFunc(c.cut, func() { cancel(errors.New("cut")) })
					}
					before, began := executor.Strays(), time.Now()
					r, err := run(ctx, step)
					got = append(got, ending(r, err), fmt.Sprint(made.Load(), " attempts, told ", told, " after ", time.Since(began).Round(time.Millisecond)))
					synctest.Wait()
					got = append(got, fmt.Sprint(executor.Strays()-before, " strays"))
					time.Sleep(2 * time.Hour)
					if left := executor.Strays() - before; left != 0 {
						t.Errorf("%d strays when all has ended", left)
					}
				})
				return got
			}
			want := play(executor.Run[string])
			got := play(func(ctx context.Context, s executor.Step[string]) (executor.Result[string], error) {
				p, err := executor.Prepare(s)
				if err != nil {
					return nil, err
				}
				type end struct {
					r   executor.Result[string]
					err error
				}
				ends := make(chan end, 2)
				r, waiting, err := p.Start(ctx, func(r executor.Result[string], err error) { ends <- end{r, err} })
				if !waiting {
					return r, err
				}
				e := <-ends
				time.AfterFunc(time.Hour+time.Minute, func() {
					if len(ends) > 0 {
						t.Error("told twice")
					}
				})
				return e.r, e.err
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Run and Start differ (-Run +Start):\n%s", diff)
			}
		})
	}
}

func TestPrepareRefusesWhatRunDoes(t *testing.T) {
	_, got := executor.Prepare(executor.Step[string]{})
	_, want := executor.Run(context.Background(), executor.Step[string]{})
	if got == nil || want == nil || got.Error() != want.Error() {
		t.Errorf("got %v, want %v", got, want)
	}
}
