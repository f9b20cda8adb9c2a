package executor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
)

type (
	reply  = executor.Reply[string]
	result = executor.Result[string]
)

var stepID = executor.MustStepID("classify")

// newStep returns a step of three attempts, 10 s each and 60 s in all, with a base pause of 1 s.
func newStep(attempt executor.Attempt[string]) executor.Step[string] {
	return executor.Step[string]{
		ID: stepID, Attempt: attempt,
		Budget: executor.Budget{Attempts: 3, PerAttempt: 10 * time.Second, Total: time.Minute, Backoff: time.Second},
	}
}

// script is an attempt whose n-th call does as its n-th entry says, and the last one from then on.
type script struct {
	made  atomic.Int64 // strays count too
	plays []func(context.Context) (reply, error)
}

func (s *script) attempt(ctx context.Context) (reply, error) {
	return s.plays[min(int(s.made.Add(1)), len(s.plays))-1](ctx)
}

func (s *script) calls() int { return int(s.made.Load()) }

func plays(ps ...func(context.Context) (reply, error)) *script { return &script{plays: ps} }

func answers(value string) func(context.Context) (reply, error) {
	return func(context.Context) (reply, error) { return reply{Value: value}, nil }
}

func fails(err error) func(context.Context) (reply, error) {
	return func(context.Context) (reply, error) { return reply{Value: "of a failed attempt"}, err }
}

func failsAs(class executor.FailureClass) func(context.Context) (reply, error) {
	return fails(executor.Failure{Class: class})
}

// takes returns what play does, d later; it does not look at its context.
func takes(d time.Duration, play func(context.Context) (reply, error)) func(context.Context) (reply, error) {
	return func(ctx context.Context) (reply, error) {
		time.Sleep(d)
		return play(ctx)
	}
}

// hangs waits for its context to end.
func hangs(ctx context.Context) (reply, error) {
	<-ctx.Done()
	return reply{}, ctx.Err()
}

// mustRun runs a step that must end in an outcome.
func mustRun(t *testing.T, s executor.Step[string]) result {
	t.Helper()
	r, err := executor.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

// told says what Match made of a result: the name of the outcome and the value.
func told(r result) string {
	return executor.Match(r,
		func(r executor.OK[string]) string { return "OK " + r.Value() },
		func(r executor.Degraded[string]) string { return "DEGRADED " + r.Value() },
		func(r executor.Abstained[string]) string { return "ABSTAINED " + r.Value() },
		func(executor.Failed[string]) string { return "FAILED" },
	)
}

func TestRunEndsInOneOfFourOutcomes(t *testing.T) {
	abstain := executor.AbstainWhen(func() bool { return true }, func() string { return "nothing to do" })
	degrade := func() string { return "second best" }
	tests := []struct {
		name  string
		plays *script
		with  func(*executor.Step[string])
		want  string
		env   executor.Envelope
	}{
		{
			"answered", plays(answers("a")), nil, "OK a",
			executor.Envelope{Outcome: executor.OutcomeOK, Attempts: 1},
		},
		{
			"answered, though it could degrade and abstain", plays(answers("a")), func(s *executor.Step[string]) {
				s.Degrade = degrade
				s.Abstain = executor.AbstainWhen(func() bool { return false }, func() string { return "" })
			},
			"OK a",
			executor.Envelope{Outcome: executor.OutcomeOK, Attempts: 1},
		},
		{
			"answered at last", plays(failsAs(executor.ClassSchema), failsAs(executor.ClassTimeout), answers("a")),
			func(s *executor.Step[string]) { s.Attempt = retried(s.Attempt) },
			"OK a",
			executor.Envelope{Outcome: executor.OutcomeOK, Attempts: 3},
		},
		{
			"never answered, degrades", plays(failsAs(executor.ClassUpstream5xx), failsAs(executor.ClassTimeout), failsAs(executor.ClassParse)),
			func(s *executor.Step[string]) { s.Degrade = degrade }, "DEGRADED second best",
			executor.Envelope{Outcome: executor.OutcomeDegraded, FailureClass: executor.ClassParse, Attempts: 3},
		},
		{
			"never answered", plays(failsAs(executor.ClassUpstream5xx), failsAs(executor.ClassParse), failsAs(executor.ClassTimeout)), nil, "FAILED",
			executor.Envelope{Outcome: executor.OutcomeFailed, FailureClass: executor.ClassTimeout, Attempts: 3},
		},
		{
			"refused, degrades at once", plays(failsAs(executor.ClassUpstream4xx)),
			func(s *executor.Step[string]) { s.Degrade = degrade }, "DEGRADED second best",
			executor.Envelope{Outcome: executor.OutcomeDegraded, FailureClass: executor.ClassUpstream4xx, Attempts: 1},
		},
		{
			"refused", plays(failsAs(executor.ClassSchema)), nil, "FAILED",
			executor.Envelope{Outcome: executor.OutcomeFailed, FailureClass: executor.ClassSchema, Attempts: 1},
		},
		{
			"unknown error", plays(fails(errors.New("unknown"))), nil, "FAILED",
			executor.Envelope{Outcome: executor.OutcomeFailed, FailureClass: executor.ClassParse, Attempts: 3},
		},
		{
			"nothing to do", plays(answers("a")), func(s *executor.Step[string]) { s.Abstain, s.Degrade = abstain, degrade },
			"ABSTAINED nothing to do",
			executor.Envelope{Outcome: executor.OutcomeAbstained},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStep(tt.plays.attempt)
				s.Prompt = executor.PromptSHA{1}
				if tt.with != nil {
					tt.with(&s)
				}
				began := time.Now()
				r := mustRun(t, s)
				if got := told(r); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				tt.env.Step, tt.env.Prompt, tt.env.Latency = stepID, s.Prompt, time.Since(began)
				if diff := cmp.Diff(tt.env.String(), r.Envelope().String()); diff != "" {
					t.Errorf("envelope (-want +got):\n%s", diff)
				}
				if got := r.Envelope().Latency; got != tt.env.Latency {
					t.Errorf("latency is %v, want %v", got, tt.env.Latency)
				}
				if tt.plays.calls() != tt.env.Attempts {
					t.Errorf("%d calls, want %d", tt.plays.calls(), tt.env.Attempts)
				}
			})
		})
	}
}

// retried makes every failure of a one that may be retried.
func retried(a executor.Attempt[string]) executor.Attempt[string] {
	return func(ctx context.Context) (reply, error) {
		r, err := a(ctx)
		if err != nil {
			f := executor.Classify(err)
			f.Retry = executor.RetryYes
			err = f
		}
		return r, err
	}
}

func TestOnlyFailedHasNoValue(t *testing.T) {
	tests := []struct {
		r    result
		want bool
	}{
		{executor.OK[string]{}, true},
		{executor.Degraded[string]{}, true},
		{executor.Abstained[string]{}, true},
		{executor.Failed[string]{}, false},
	}
	for _, tt := range tests {
		u, got := tt.r.(executor.Usable[string])
		if got != tt.want {
			t.Errorf("%T is usable: %v, want %v", tt.r, got, tt.want)
		}
		if got && u.Value() != "" || tt.r.Envelope() != (executor.Envelope{}) {
			t.Errorf("zero %T belongs to a step: %v", tt.r, tt.r)
		}
	}
}

func TestMatchRefusesWhatRunDidNotMake(t *testing.T) {
	type disguised struct{ executor.Result[string] }
	for name, r := range map[string]result{"nil": nil, "disguised": disguised{executor.OK[string]{}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			t.Errorf("%s: taken for %s", name, told(r))
		}()
	}
}

func TestRetriesByClassUnlessOverridden(t *testing.T) {
	retryable := map[executor.FailureClass]bool{executor.ClassTimeout: true, executor.ClassParse: true, executor.ClassUpstream5xx: true}
	for _, class := range executor.FailureClasses() {
		for _, retry := range []executor.Retry{executor.RetryByClass, executor.RetryYes, executor.RetryNo} {
			t.Run(fmt.Sprintf("%v/%d", class, retry), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					want := 1
					if retry == executor.RetryYes || retry == executor.RetryByClass && retryable[class] {
						want = 3
					}
					p := plays(fails(executor.Failure{Class: class, Retry: retry}))
					e := mustRun(t, newStep(p.attempt)).Envelope()
					if p.calls() != want || e.Attempts != want {
						t.Errorf("%d calls, %d attempts, want %d", p.calls(), e.Attempts, want)
					}
					if e.FailureClass != class {
						t.Errorf("reported as %v, want %v", e.FailureClass, class)
					}
				})
			})
		}
	}
}

func TestAbstainIsAskedOnceBeforeAnyAttempt(t *testing.T) {
	for _, abstains := range []bool{true, false} {
		t.Run(fmt.Sprint(abstains), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order []string
				p := plays(failsAs(executor.ClassParse), answers("a"))
				s := newStep(func(ctx context.Context) (reply, error) {
					order = append(order, "attempt")
					return p.attempt(ctx)
				})
				s.Abstain = executor.AbstainWhen(
					func() bool { order = append(order, "on"); return abstains },
					func() string { order = append(order, "to"); return "none" },
				)
				want := map[bool][]string{true: {"on", "to"}, false: {"on", "attempt", "attempt"}}[abstains]
				mustRun(t, s)
				if diff := cmp.Diff(want, order); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDegradeIsAskedOnceAfterTheLastAttempt(t *testing.T) {
	tests := []struct {
		name string
		p    *script
		want []string
	}{
		{"attempts spent", plays(failsAs(executor.ClassParse)), []string{"attempt", "attempt", "attempt", "degrade"}},
		{"not retryable", plays(failsAs(executor.ClassSchema)), []string{"attempt", "degrade"}},
		{"answered", plays(failsAs(executor.ClassParse), answers("a")), []string{"attempt", "attempt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order []string
				s := newStep(func(ctx context.Context) (reply, error) {
					order = append(order, "attempt")
					return tt.p.attempt(ctx)
				})
				s.Degrade = func() string { order = append(order, "degrade"); return "b" }
				mustRun(t, s)
				if diff := cmp.Diff(tt.want, order); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestUsageAndModelAreOfAllAttempts(t *testing.T) {
	said := func(model string, u executor.Usage, err error) func(context.Context) (reply, error) {
		return func(context.Context) (reply, error) {
			return reply{Model: executor.ModelVersionOf(model), Usage: u}, err
		}
	}
	tokens, failed := executor.Tokens, executor.Failure{Class: executor.ClassParse}
	tests := []struct {
		name  string
		plays *script
		model string
		usage executor.Usage
	}{
		{"one answer", plays(said("m-1", tokens(10, 5), nil)), "m-1", tokens(10, 5)},
		{"failed ones were paid for", plays(said("m-1", tokens(10, 5), failed), said("m-2", tokens(20, 7), nil)), "m-2", tokens(30, 12)},
		{"unknown beside known", plays(said("m-1", executor.Usage{}, failed), said("m-1", tokens(20, 7), nil)), "m-1", tokens(20, 7)},
		{"known beside unknown", plays(said("m-1", tokens(20, 7), failed), said("", executor.Usage{}, nil)), "", tokens(20, 7)},
		{"never known", plays(said("", executor.Usage{}, nil)), "", executor.Usage{}},
		{"all failed", plays(said("m-1", tokens(1, 1), failed), said("", executor.Usage{}, failed), said("", tokens(2, 2), failed)), "m-1", tokens(3, 3)},
		{"known to be none", plays(said("", tokens(0, 0), nil)), "", tokens(0, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := mustRun(t, newStep(tt.plays.attempt)).Envelope()
				if e.Usage != tt.usage {
					t.Errorf("usage is %v, want %v", e.Usage, tt.usage)
				}
				if e.Model.String() != tt.model {
					t.Errorf("model is %q, want %q", e.Model, tt.model)
				}
			})
		})
	}
}

func TestInvalidStepsAreNotRun(t *testing.T) {
	yes, none := func() bool { return true }, func() string { return "" }
	tests := map[string]func(*executor.Step[string]){
		"ID is required":                      func(s *executor.Step[string]) { s.ID = executor.StepID{} },
		"Attempt is required":                 func(s *executor.Step[string]) { s.Attempt = nil },
		"Budget.Attempts must be positive":    func(s *executor.Step[string]) { s.Budget.Attempts = 0 },
		"Budget.PerAttempt must be positive":  func(s *executor.Step[string]) { s.Budget.PerAttempt = 0 },
		"Budget.Total must be positive":       func(s *executor.Step[string]) { s.Budget.Total = -1 },
		"Budget.Backoff must not be negative": func(s *executor.Step[string]) { s.Budget.Backoff = -1 },
		"Abstain needs both functions":        func(s *executor.Step[string]) { s.Abstain = executor.AbstainWhen[string](yes, nil) },
		"Abstain needs both functions ":       func(s *executor.Step[string]) { s.Abstain = executor.AbstainWhen(nil, none) },
		"Spent must not be negative":          func(s *executor.Step[string]) { s.Spent.Attempts = -1 },
		"Spent must not be negative ":         func(s *executor.Step[string]) { s.Spent.Latency = -1 },
		"Spent leaves no attempt":             func(s *executor.Step[string]) { s.Spent.Attempts = 3 },
	}
	for want, breaks := range tests {
		p := plays(answers("a"))
		s := newStep(p.attempt)
		breaks(&s)
		r, err := executor.Run(t.Context(), s)
		invalid, ok := errors.AsType[*executor.InvalidStepError](err)
		if r != nil || !ok || p.calls() > 0 {
			t.Errorf("%s: got %v, %v, %d calls", want, r, err, p.calls())
			continue
		}
		if invalid.Step != s.ID || invalid.Problem+" " != want && invalid.Problem != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOnFailureHearsOfEveryFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		p := plays(fails(cause), hangs, failsAs(executor.ClassSchema))
		s := newStep(p.attempt)
		var got []string
		s.OnFailure = func(attempt int, f executor.Failure) {
			got = append(got, fmt.Sprint(attempt, " ", f.Class, " ", errors.Is(f, cause)))
			panic("is ignored")
		}
		mustRun(t, s)
		if diff := cmp.Diff([]string{"1 parse true", "2 timeout false", "3 schema false"}, got); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	})
}
