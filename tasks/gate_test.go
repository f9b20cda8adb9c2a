package tasks_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
)

// limited puts the fleet's limit before a worker's model, as a process of its own would.
func (f *fleet) limited(m *model, limit tasks.Limit) func(*tasks.WorkerConfig) {
	return func(c *tasks.WorkerConfig) {
		gate := tasks.NewGate(f.rdb, map[provider.Name]tasks.Limit{m.Name(): limit})
		guarded := provider.Guard(m, provider.GuardConfig{Gate: gate, Timeouts: provider.Timeouts{Total: time.Minute}})
		c.Chains = map[string]*provider.Chain{"default": provider.NewChain(guarded)}
	}
}

func lifeCallsInFlightAreBoundedOverTheFleet(t *testing.T, f *fleet) {
	const most = 2
	var now, peak atomic.Int64
	m := newModel(func(context.Context, string, int) (string, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		time.Sleep(10 * time.Millisecond) // room for others to overlap; nothing depends on how long it is
		return "7", nil
	})
	for range 2 {
		f.worker(m, f.limited(m, tasks.Limit{InFlight: most}))
	}
	b := bundle(t, "flow: one\nsteps:\n"+step("only", ""))
	var runs []tasks.RunID
	for i := range 12 {
		runs = append(runs, f.submit(b, fmt.Sprint(i)))
	}
	for _, run := range runs {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("%v by %v", s.Outcome, s.Marker.Cause)
		}
	}
	if peak.Load() > most || m.total() != len(runs) {
		t.Errorf("%d calls at a time, %d in all", peak.Load(), m.total())
	}
}

func lifeCallsPerMinuteAreBoundedOverTheFleet(t *testing.T, f *fleet) {
	m := newModel(fine)
	for range 2 {
		f.worker(m, f.limited(m, tasks.Limit{PerMinute: 1}))
	}
	// The minute's one call is made by the first step; the second may not wait for the next.
	s := f.wait(f.submit(bundle(t, "flow: two\nsteps:\n"+step("one", "")+step("two", "    needs: [one]\n    max_wait: 1s\n    degrade_to: '0'\n")), `1`))
	if st := s.Steps[1]; st.Outcome != executor.OutcomeDegraded || st.FailureClass != executor.ClassUpstream4xx || m.total() != 1 {
		t.Errorf("step %+v, %d calls", st.Envelope, m.total())
	}
}
