package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
)

const never = 24 * time.Hour

func TestRunReturnsInTimeThoughTheAttemptIgnoresItsContext(t *testing.T) {
	budget := func(attempts int, perAttempt, total time.Duration) executor.Budget {
		return executor.Budget{Attempts: attempts, PerAttempt: perAttempt, Total: total, Backoff: time.Nanosecond}
	}
	tests := []struct {
		name     string
		budget   executor.Budget
		want     time.Duration // within a few ns of pauses
		attempts int
	}{
		{"one attempt", budget(1, 10*time.Second, time.Minute), 10 * time.Second, 1},
		{"three attempts", budget(3, 10*time.Second, time.Minute), 30 * time.Second, 3},
		{"the total is shorter than an attempt", budget(3, 10*time.Second, 4*time.Second), 4 * time.Second, 1},
		{"the total cuts the third attempt", budget(9, 10*time.Second, 25*time.Second), 25 * time.Second, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStep(takes(never, answers("too late")))
				s.Budget = tt.budget
				before := executor.Strays()
				began := time.Now()
				r := mustRun(t, s)
				took := time.Since(began)
				if took < tt.want || took > tt.want+time.Microsecond || took > tt.budget.Total {
					t.Errorf("took %v, want %v", took, tt.want)
				}
				want := executor.Envelope{
					Step: stepID, Outcome: executor.OutcomeFailed, FailureClass: executor.ClassTimeout,
					Attempts: tt.attempts, Latency: took,
				}
				if e := r.Envelope(); e != want {
					t.Errorf("got %v, want %v", e, want)
				}
				if got := executor.Strays() - before; got != int64(tt.attempts) {
					t.Errorf("%d strays, want %d", got, tt.attempts)
				}
				time.Sleep(never)
				synctest.Wait()
				if got := executor.Strays() - before; got != 0 {
					t.Errorf("%d strays after they have ended", got)
				}
			})
		})
	}
}

func TestAnAttemptThatEndsInTimeIsNoStray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := executor.Strays()
		mustRun(t, newStep(plays(failsAs(executor.ClassParse), takes(9*time.Second, answers("a"))).attempt))
		if got := executor.Strays() - before; got != 0 {
			t.Errorf("%d strays", got)
		}
	})
}

func TestATimedOutAttemptMayBeFollowedByAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plays(takes(11*time.Second, answers("late")), takes(9*time.Second, answers("a")))
		s := newStep(p.attempt)
		if got := told(mustRun(t, s)); got != "OK a" {
			t.Errorf("got %s, want OK a", got)
		}
	})
}

// starts runs the step and returns when each attempt began.
func starts(t *testing.T, s executor.Step[string]) (at []time.Duration, took time.Duration) {
	t.Helper()
	began, attempt := time.Now(), s.Attempt
	s.Attempt = func(ctx context.Context) (reply, error) {
		at = append(at, time.Since(began))
		return attempt(ctx)
	}
	mustRun(t, s)
	return at, time.Since(began)
}

func TestPausesDoubleWithinTheirBounds(t *testing.T) {
	for range 50 { // the jitter is random; its bounds hold every time
		synctest.Test(t, func(t *testing.T) {
			s := newStep(failsAs(executor.ClassParse))
			s.Budget.Attempts, s.Budget.Backoff = 4, 0
			at, took := starts(t, s)
			if len(at) != 4 || took != at[3] {
				t.Fatalf("attempts at %v, ended at %v; want four and no pause after the last", at, took)
			}
			for i, least := range []time.Duration{executor.DefaultBackoff / 2, executor.DefaultBackoff, 2 * executor.DefaultBackoff} {
				if pause := at[i+1] - at[i]; pause < least || pause > 2*least {
					t.Errorf("pause %d is %v, want %v to %v", i+1, pause, least, 2*least)
				}
			}
		})
	}
}

func TestRetryAfterIsAFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: 20 * time.Second}
		at, _ := starts(t, newStep(plays(fails(limited), answers("a")).attempt))
		if diff := cmp.Diff([]time.Duration{0, 20 * time.Second}, at); diff != "" {
			t.Errorf("attempts began (-want +got):\n%s", diff)
		}
	})
}

func TestNoSleepEndsInNothing(t *testing.T) {
	limited := func(after time.Duration) func(context.Context) (reply, error) {
		return fails(executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: after})
	}
	tests := []struct {
		name    string
		play    func(context.Context) (reply, error)
		backoff time.Duration
		want    time.Duration
	}{
		{"RetryAfter does not fit", limited(time.Minute), time.Second, 0},
		{"RetryAfter does not fit what is left", takes(9*time.Second, limited(51*time.Second)), time.Second, 9 * time.Second},
		{"the pause does not fit", failsAs(executor.ClassParse), 2 * time.Minute, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStep(tt.play)
				s.Budget.Backoff = tt.backoff
				at, took := starts(t, s)
				if len(at) != 1 || took != tt.want {
					t.Errorf("attempts at %v, ended after %v; want one and %v", at, took, tt.want)
				}
			})
		})
	}
}

// lateContext keeps whoever is about to wait for it for a while, as a machine does that was put to sleep.
type lateContext struct {
	context.Context
	waits int // how many may wait without delay
	late  time.Duration
}

func (c *lateContext) Done() <-chan struct{} {
	if c.waits--; c.waits < 0 {
		time.Sleep(c.late)
	}
	return c.Context.Done()
}

func TestNoAttemptStartsWhenThePauseLastedTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plays(failsAs(executor.ClassParse))
		ctx := &lateContext{t.Context(), 1, time.Hour} // in the pause after the first attempt
		r, err := executor.Run(ctx, newStep(p.attempt))
		if err != nil || p.calls() != 1 || r.Envelope().FailureClass != executor.ClassParse {
			t.Errorf("got %v, %v after %d calls, want FAILED parse after 1", r, err, p.calls())
		}
	})
}

func TestAttemptsKnowTheirDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		deadlines := make(chan time.Duration, 2)
		s := newStep(func(ctx context.Context) (reply, error) {
			deadline, ok := ctx.Deadline()
			if !ok {
				t.Error("an attempt without a deadline")
			}
			deadlines <- deadline.Sub(began)
			return hangs(ctx)
		})
		s.Budget.Attempts, s.Budget.Total, s.Budget.Backoff = 2, 15*time.Second, time.Nanosecond
		mustRun(t, s)
		got := []time.Duration{<-deadlines, <-deadlines}
		if diff := cmp.Diff([]time.Duration{10 * time.Second, 15 * time.Second}, got); diff != "" {
			t.Errorf("deadlines (-want +got):\n%s", diff)
		}
	})
}
