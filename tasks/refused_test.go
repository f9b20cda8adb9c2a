package tasks_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
)

// breaking puts a breaker that opens at once around the one provider of a worker.
func (f *fleet) breaking(m *model, cooldown time.Duration) {
	f.t.Helper()
	guarded := provider.Guard(m, provider.GuardConfig{
		Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: 1, Cooldown: cooldown}), Gate: tasks.NewGate(f.rdb, nil),
	})
	f.worker(m, func(cfg *tasks.WorkerConfig) {
		cfg.Chains = map[string]*provider.Chain{"default": provider.NewChain(guarded)}
	})
}

const onceFlow = "flow: f\nsteps:\n  - id: a\n    prompt: p.tmpl\n    output: number.json\n    budget: {attempts: 1, per_attempt: 60s, total: 110s}\n"

func TestStepsThatAnOpenBreakerRefusesOutlastAnOutageWithTheirAttempts(t *testing.T) {
	f := realFleet(t)
	m := newModel(func(_ context.Context, _ string, n int) (string, error) {
		if n == 1 {
			return "", sickness()
		}
		return "1", nil
	})
	f.breaking(m, 2*time.Second)
	b := bundle(t, onceFlow)
	if st := f.wait(f.submit(b, "1")); st.Outcome != executor.OutcomeFailed {
		t.Fatalf("%+v", st)
	}
	var runs []tasks.RunID
	for range 10 {
		runs = append(runs, f.submit(b, "1"))
	}
	for _, run := range runs {
		if st := f.wait(run); st.Outcome != executor.OutcomeOK || st.Steps[0].Attempts != 1 {
			t.Errorf("%s after %d attempts, %s", st.Outcome, st.Steps[0].Attempts, st.Steps[0].Reason)
		}
	}
	if m.count("a") != 11 {
		t.Errorf("%d calls for 11 runs of one attempt", m.count("a"))
	}
}

func TestAStepEndsWhenItsBreakerStaysOpenForLongerThanItMayWait(t *testing.T) {
	f := realFleet(t)
	m := newModel(func(context.Context, string, int) (string, error) { return "", sickness() })
	f.breaking(m, time.Hour)
	f.wait(f.submit(bundle(t, onceFlow), "1"))
	patient := strings.Replace(onceFlow, "total: 110s", "total: 2h", 1) + "    max_wait: 5s\n"
	for name, c := range map[string]struct {
		flow string
		want []string
	}{
		"its budget":                 {onceFlow, []string{"FAILED", "upstream-5xx", "provider_error", "breaker_open"}},
		"its max_wait":               {patient, []string{"FAILED", "upstream-5xx", "provider_error", "breaker_open"}},
		"its budget, and degrades":   {onceFlow + "    degrade_to: '0'\n", []string{"DEGRADED", "upstream-5xx", "provider_error", "breaker_open"}},
		"its max_wait, and degrades": {patient + "    degrade_to: '0'\n", []string{"DEGRADED", "upstream-5xx", "provider_error", "breaker_open"}},
	} {
		st := f.wait(f.submit(bundle(t, c.flow), "1"))
		s := st.Steps[0]
		got := []string{st.Outcome.String(), s.FailureClass.String(), s.ErrorKind.String(), s.Reason.String()}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if m.count("a") != 1 {
		t.Errorf("%d calls", m.count("a"))
	}
}
