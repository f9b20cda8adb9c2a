package tasks

import (
	"testing"

	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// A claim that is extended and that nobody works on would keep its step from all workers.
func TestAWorkerLetsGoOfAStepOverWhichItPanics(t *testing.T) {
	w, _, _ := backlog(t, 0)
	bundle := eachBundle(t)
	for name, work := range map[string]func(*stay){
		"at its start":              func(st *stay) { _, _, _ = st.start() },                 // there is no step to start
		"when its attempts end":     func(st *stay) { st.resume(nil, nil) },                  // there are no notes
		"when it is to be recorded": func(st *stay) { st.leave(nil, nil) },                   // there is no result
		"twice":                     func(st *stay) { defer st.leave(nil, nil); st.start() }, //nolint:errcheck // it panics
	} {
		left := 0
		j := itemJob(bundle, newRunID(DefaultQueue, "f", "1"), 1, 0, "{}")
		j.bundle, j.task, j.leave = bundle, runstate.Task{Ref: j.Run.ref(), Generation: 1, Unit: j.Unit, Token: "a"}, func() { left++ }
		st := w.enter(doorbell.NewStint(nil), j)
		if len(w.claims.held) != 1 || st.ctx.Err() != nil || left != 0 {
			t.Fatalf("%s: in hand are %d claims", name, len(w.claims.held))
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			work(st)
		}()
		if len(w.claims.held) != 0 || st.ctx.Err() == nil || left != 1 {
			t.Errorf("%s: %d claims are held; the context has ended: %v; let go of %d times", name, len(w.claims.held), st.ctx.Err(), left)
		}
	}
}
