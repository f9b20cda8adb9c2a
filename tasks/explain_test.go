package tasks_test

import (
	"strings"
	"testing"

	"fourfold/executor"
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
