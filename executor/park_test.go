package executor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fourfold/executor"
)

// parks is an attempt that was not made; what it says it has spent is not believed.
func parks(until time.Time) func(context.Context) (reply, error) {
	return func(context.Context) (reply, error) {
		return reply{}, fmt.Errorf("chain: %w", &executor.Parked{NotBefore: until, Spent: executor.Spent{Attempts: 77}})
	}
}

func TestAParkedStepGoesOnWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paid := func(context.Context) (reply, error) {
			time.Sleep(time.Second)
			return reply{Usage: executor.Tokens(10, 1)}, executor.Failure{Class: executor.ClassParse}
		}
		began := time.Now()
		until := began.Add(time.Hour)
		p := plays(paid, parks(until))
		s := newStep(p.attempt)
		asked := 0
		s.Abstain = executor.AbstainWhen(func() bool { asked++; return false }, func() string { return "" })
		s.Degrade = func() string { t.Error("degraded"); return "" }

		r, err := executor.Run(t.Context(), s)
		parked, ok := errors.AsType[*executor.Parked](err)
		if r != nil || !ok || !parked.NotBefore.Equal(until) {
			t.Fatalf("got %v, %v, want parked until %v", r, err, until)
		}
		first := time.Since(began)
		if want := (executor.Spent{Attempts: 1, Usage: executor.Tokens(10, 1), Latency: first}); parked.Spent != want {
			t.Fatalf("spent %v, want %v: an attempt that was not made is not counted", parked.Spent, want)
		}

		time.Sleep(time.Until(until))
		s.Spent = parked.Spent
		again := time.Now()
		s.Attempt = plays(paid, func(context.Context) (reply, error) {
			time.Sleep(9 * time.Second)
			return reply{Value: "a", Usage: executor.Tokens(10, 1)}, nil
		}).attempt
		r, err = executor.Run(t.Context(), s)
		if err != nil || told(r) != "OK a" {
			t.Fatalf("got %v, %v, want OK a", r, err)
		}
		want := executor.Envelope{
			Step: stepID, Outcome: executor.OutcomeOK, Attempts: 3, Usage: executor.Tokens(30, 3),
			Latency: first + time.Since(again),
		}
		if got := r.Envelope(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		if asked != 1 {
			t.Errorf("asked to abstain %d times, want once, before any attempt", asked)
		}
	})
}

func TestEarlierDeliveriesCountAgainstAttemptsButNotAgainstTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plays(failsAs(executor.ClassTimeout))
		s := newStep(p.attempt)
		s.Spent = executor.Spent{Attempts: 1, Latency: never}
		e := mustRun(t, s).Envelope()
		if p.calls() != 2 || e.Attempts != 3 || e.Latency <= never {
			t.Errorf("%d calls, %v; want 2 calls, 3 attempts and all the time", p.calls(), e)
		}
	})
}

// The pause after the n-th attempt is that of the n-th also when earlier ones belong to other deliveries.
func TestBackoffGoesOnWhereAnEarlierDeliveryStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStep(failsAs(executor.ClassTimeout))
		s.Budget.Attempts, s.Spent.Attempts = 4, 2
		at, _ := starts(t, s)
		if len(at) != 2 || at[1] < 2*time.Second || at[1] > 4*time.Second {
			t.Errorf("attempts at %v, want the second after 2s to 4s", at)
		}
	})
}

func TestAStepParkedAtItsFirstAttemptHasSpentNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plays(parks(time.Time{}))
		_, err := executor.Run(t.Context(), newStep(p.attempt))
		parked, ok := errors.AsType[*executor.Parked](err)
		if !ok || parked.Spent != (executor.Spent{}) || p.calls() != 1 {
			t.Errorf("got %v after %d calls, want parked with nothing spent", err, p.calls())
		}
	})
}

func TestAParkedStepSaysWhatItWaitsFor(t *testing.T) {
	for _, class := range append(executor.FailureClasses(), executor.ClassNone) {
		synctest.Test(t, func(t *testing.T) {
			_, err := executor.Run(t.Context(), newStep(fails(&executor.Parked{NotBefore: time.Now().Add(time.Hour), Class: class})))
			if parked, ok := errors.AsType[*executor.Parked](err); !ok || parked.Class != class {
				t.Errorf("got %v, want parked for %v", err, class)
			}
		})
	}
}

func TestANilParkedIsAnErrorLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStep(fails((*executor.Parked)(nil)))
		if e := mustRun(t, s).Envelope(); e.Outcome != executor.OutcomeFailed || e.FailureClass != executor.ClassParse {
			t.Errorf("got %v, want FAILED parse", e)
		}
	})
}

func TestARetryAfterBeyondPatienceParksTheStep(t *testing.T) {
	limited := func(after time.Duration) func(context.Context) (reply, error) {
		return func(context.Context) (reply, error) {
			return reply{Usage: executor.Tokens(3, 0)}, executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: after}
		}
	}
	tests := []struct {
		name     string
		patience time.Duration
		after    time.Duration
		calls    int
		parked   bool
	}{
		{"beyond it", time.Second, 20 * time.Second, 1, true},
		{"within it", 20 * time.Second, 20 * time.Second, 2, false},
		{"without one", 0, 20 * time.Second, 2, false},
		{"a backoff is not asked for", time.Millisecond, 0, 2, false},
		{"beyond the budget too", time.Second, time.Hour, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plays(limited(tt.after), answers("a"))
				s := newStep(p.attempt)
				s.Patience = tt.patience
				began := time.Now()
				_, err := executor.Run(t.Context(), s)
				parked, ok := errors.AsType[*executor.Parked](err)
				if ok != tt.parked || p.calls() != tt.calls {
					t.Fatalf("got %v after %d calls, want parked = %v after %d", err, p.calls(), tt.parked, tt.calls)
				}
				if !ok {
					return
				}
				if want := (executor.Spent{Attempts: 1, Usage: executor.Tokens(3, 0)}); parked.Spent != want || parked.Class != executor.ClassUpstream4xx || !parked.NotBefore.Equal(began.Add(tt.after)) {
					t.Errorf("spent %v, class %v, not before %v; want %v and what the failure said", parked.Spent, parked.Class, parked.NotBefore.Sub(began), want)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("Run slept for %v all the same", took)
				}
			})
		})
	}
}

func TestTheLastAttemptIsNotParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStep(fails(executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: 20 * time.Second}))
		s.Patience, s.Spent.Attempts = time.Second, 2
		if e := mustRun(t, s).Envelope(); e.Outcome != executor.OutcomeFailed || e.Attempts != 3 {
			t.Errorf("got %v, want FAILED after 3 attempts", e)
		}
	})
}
