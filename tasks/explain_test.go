package tasks_test

import (
	"strings"
	"testing"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
)

// A mistake in a flow must not look like a bad model: the log says which template or expression, and where.
func TestWhatCouldNotBeEvaluatedIsLoggedWithItsPlace(t *testing.T) {
	f := realFleet(t)
	log := &spoken{}
	m := newModel(fine)
	f.worker(m, func(c *tasks.WorkerConfig) { c.Logger = log })
	yaml := "flow: typo\nsteps:\n" +
		strings.Replace(step("prompt", ""), "p.tmpl", "absent.tmpl", 1) +
		step("abstains", "    abstain: {on: 'input.absent > 3', to: '0'}\n")
	s := f.wait(f.submit(bundle(t, yaml), `{"present":"canary7f3"}`))
	for _, st := range s.Steps {
		if st.Outcome != executor.OutcomeFailed || st.FailureClass != executor.ClassParse {
			t.Errorf("%s: %v %v", st.Step, st.Outcome, st.FailureClass)
		}
	}
	for _, want := range []string{"absent.tmpl", "abstain.on", "flow.yaml"} {
		if !strings.Contains(log.all(), want) {
			t.Errorf("the log does not name %s:\n%s", want, log.all())
		}
	}
	if strings.Contains(log.all(), "canary7f3") || m.total() != 0 {
		t.Errorf("%d calls; the log:\n%s", m.total(), log.all())
	}
}

// What no worker has got is nobody's rate limit: the step waits for a worker that has it, and is then rejected.
func TestAStepThatNoWorkerCanServeIsRejected(t *testing.T) {
	f := realFleet(t)
	m := newModel(fine)
	f.worker(m, nil)
	yaml := "flow: unserved\nsteps:\n  - {id: handler, handler: nope, max_wait: 3s, budget: {attempts: 1, per_attempt: 1s, total: 1s}}\n" +
		step("chain", "    max_wait: 3s\n") + step("able", "    max_wait: 3s\n    requires: [vision]\n")
	s := f.wait(f.submit(bundle(t, strings.Replace(yaml, "chain: default", "chain: nope", 1)), `1`))
	for _, st := range s.Steps {
		if st.Outcome != executor.OutcomeFailed || st.Cause != tasks.CauseRejected || st.Attempts != 0 || st.ErrorKind != provider.KindNone {
			t.Errorf("%s: %v, %v, %d attempts, %v", st.Step, st.Outcome, st.Cause, st.Attempts, st.ErrorKind)
		}
	}
	if m.total() != 0 {
		t.Errorf("%d calls", m.total())
	}
}
