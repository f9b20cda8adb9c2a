package executor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
)

// The caller's context ends at a time that each case names; no case has a value by then.
func TestTheEndOfTheCallersContextIsNoOutcome(t *testing.T) {
	paid := func(context.Context) (reply, error) {
		return reply{Usage: executor.Tokens(5, 1)}, executor.Failure{Class: executor.ClassParse}
	}
	spent := executor.Spent{Attempts: 1, Usage: executor.Tokens(1, 1), Latency: time.Hour}
	tests := []struct {
		name  string
		after time.Duration // 0: it has ended before
		with  func(*executor.Step[string])
		plays *script
		calls int
		spent executor.Spent
	}{
		{"before", 0, nil, plays(answers("a")), 0, executor.Spent{}},
		{
			"before, on a later delivery", 0, func(s *executor.Step[string]) { s.Spent = spent },
			plays(answers("a")), 0, spent,
		},
		{"in an attempt that heeds it", 4 * time.Second, nil, plays(hangs), 1, executor.Spent{Latency: 4 * time.Second}},
		{
			"in an attempt that ignores it", 4 * time.Second, nil, plays(takes(9*time.Second, answers("a"))),
			1,
			executor.Spent{Latency: 4 * time.Second},
		},
		{
			"in a pause", 4 * time.Second, func(s *executor.Step[string]) { s.Budget.Backoff = 20 * time.Second },
			plays(paid), 1,
			executor.Spent{Attempts: 1, Usage: executor.Tokens(5, 1), Latency: 4 * time.Second},
		},
		{
			"in the second attempt of a later delivery", 4 * time.Second,
			func(s *executor.Step[string]) { s.Spent, s.Budget.Backoff = spent, time.Nanosecond },
			plays(paid, hangs), 2,
			executor.Spent{Attempts: 2, Usage: executor.Tokens(6, 2), Latency: time.Hour + 4*time.Second},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cause := errors.New("shutting down")
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				if tt.after == 0 {
					cancel(cause)
				} else {
					time.AfterFunc(tt.after, func() { cancel(cause) })
				}
				s := newStep(tt.plays.attempt)
				s.Degrade = func() string { t.Error("asked for a value to degrade to"); return "" }
				if tt.with != nil {
					tt.with(&s)
				}
				r, err := executor.Run(ctx, s)
				if r != nil || !errors.Is(err, executor.ErrInterrupted) || !errors.Is(err, cause) {
					t.Fatalf("got %v, %v, want ErrInterrupted with its cause", r, err)
				}
				if got := time.Since(began); got != tt.after {
					t.Errorf("returned after %v, want %v", got, tt.after)
				}
				if tt.plays.calls() != tt.calls {
					t.Errorf("%d calls, want %d", tt.plays.calls(), tt.calls)
				}
				interruption, ok := errors.AsType[*executor.InterruptedError](err)
				if !ok {
					t.Fatalf("got %T", err)
				}
				if diff := cmp.Diff(tt.spent, interruption.Spent, cmp.Comparer(sameUsage)); diff != "" {
					t.Errorf("spent (-want +got):\n%s", diff)
				}
				time.Sleep(time.Minute) // strays end within the bubble
			})
		})
	}
}

func sameUsage(a, b executor.Usage) bool { return a == b }

func TestTheCallersDeadlineIsAnInterruptionToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := executor.Run(ctx, newStep(func(ctx context.Context) (reply, error) {
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != 3*time.Second {
				t.Errorf("the attempt has %v, want the caller's 3s", time.Until(deadline))
			}
			return hangs(ctx)
		}))
		if !errors.Is(err, executor.ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrInterrupted with DeadlineExceeded", err)
		}
	})
}

func TestNoAttemptStartsOnAContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := plays(failsAs(executor.ClassParse))
		s := newStep(p.attempt)
		s.OnFailure = func(int, executor.Failure) { cancel() }
		if r, err := executor.Run(ctx, s); !errors.Is(err, executor.ErrInterrupted) || p.calls() != 1 {
			t.Errorf("got %v, %v after %d calls, want ErrInterrupted after 1", r, err, p.calls())
		}

		ctx, cancel = context.WithCancel(t.Context())
		p = plays(failsAs(executor.ClassParse))
		s.Attempt, s.OnFailure = p.attempt, nil
		s.Abstain = executor.AbstainWhen(func() bool { cancel(); return false }, func() string { return "" })
		r, err := executor.Run(ctx, s)
		synctest.Wait() // a goroutine that was started would have made its call by now
		if !errors.Is(err, executor.ErrInterrupted) || p.calls() != 0 {
			t.Errorf("got %v, %v after %d calls, want ErrInterrupted after none", r, err, p.calls())
		}

		s.Abstain = executor.AbstainWhen(func() bool { t.Error("asked"); return true }, func() string { return "" })
		if r, err := executor.Run(ctx, s); !errors.Is(err, executor.ErrInterrupted) {
			t.Errorf("got %v, %v, want ErrInterrupted", r, err)
		}
	})
}

// The attempt answers that it was cut before Run has seen why: it was not made all the same.
func TestAnAttemptThatWasCutIsNotCounted(t *testing.T) {
	for range 100 { // who is first is for the scheduler to say
		ctx, cancel := context.WithCancel(t.Context())
		s := newStep(func(context.Context) (reply, error) {
			cancel()
			return reply{}, executor.Failure{Class: executor.ClassUpstream5xx}
		})
		s.OnFailure = func(int, executor.Failure) { t.Error("heard as a failure of the step") }
		_, err := executor.Run(ctx, s)
		interruption, ok := errors.AsType[*executor.InterruptedError](err)
		if !ok || interruption.Spent.Attempts != 0 {
			t.Fatalf("got %v, spent %v, want no attempt", err, interruption.Spent)
		}
	}
}

func TestAStepIsNotDegradedOnceTheCallersContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStep(failsAs(executor.ClassSchema))
	s.OnFailure = func(int, executor.Failure) { cancel() }
	s.Degrade = func() string { t.Error("asked for a value"); return "" }
	if r, err := executor.Run(ctx, s); !errors.Is(err, executor.ErrInterrupted) {
		t.Errorf("got %v, %v, want ErrInterrupted", r, err)
	}
}

func TestAValueInHandWinsOverTheEndOfTheCallersContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStep(answers("a"))
	s.Abstain = executor.AbstainWhen(func() bool { return true }, func() string { cancel(); return "none" })
	if r, err := executor.Run(ctx, s); err != nil || told(r) != "ABSTAINED none" {
		t.Errorf("got %v, %v, want ABSTAINED", r, err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	s = newStep(failsAs(executor.ClassSchema))
	s.Degrade = func() string { cancel(); return "second best" }
	if r, err := executor.Run(ctx, s); err != nil || told(r) != "DEGRADED second best" {
		t.Errorf("got %v, %v, want DEGRADED", r, err)
	}
}
