package oracle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/tasks/internal/runstate"
)

// The vectors fix the meaning of edges and joins: extract; classify and tables need extract; merge needs classify, and
// tables as optional; notify needs merge as always.
func TestVectors(t *testing.T) {
	const extract, classify, tables, merge = 0, 1, 2, 3
	req := func(i int) runstate.Edge { return runstate.Edge{Step: i, Mode: 'r'} }
	graph := func() []runstate.Node {
		return Link([]runstate.Node{
			{ID: "extract"},
			{ID: "classify", Parents: []runstate.Edge{req(extract)}},
			{ID: "tables", Parents: []runstate.Edge{req(extract)}},
			{ID: "merge", Parents: []runstate.Edge{req(classify), {Step: tables, Mode: 'o'}}},
			{ID: "notify", Parents: []runstate.Edge{{Step: merge, Mode: 'a'}}},
		})
	}
	type M = runstate.Marker
	degraded := func(step int) M {
		return M{Outcome: executor.OutcomeDegraded, Step: step, Cause: runstate.CauseTimeout}
	}
	failed := func(step int) M { return M{Outcome: executor.OutcomeFailed, Step: step, Cause: runstate.CauseTimeout} }
	for _, v := range []struct {
		own    string // a letter a step; - is skipped, so its letter does not matter
		marker M
		calls  int
	}{
		{"OOOOO", M{Outcome: executor.OutcomeOK}, 5},
		{"AOOOO", M{Outcome: executor.OutcomeOK}, 4},
		{"AAAAA", M{Outcome: executor.OutcomeAbstained}, 0},
		{"OOFOO", degraded(tables), 5},
		{"OFO-O", failed(classify), 4},
		{"ODFOO", degraded(classify), 5},
		{"F---O", failed(extract), 2},
		{"OOOFO", failed(merge), 5},
		{"OODAO", degraded(tables), 4},
	} {
		t.Run(v.own, func(t *testing.T) {
			own := make([]Own, len(v.own))
			for i, c := range v.own {
				own[i] = map[rune]Own{
					'O': {Outcome: executor.OutcomeOK}, 'A': {Outcome: executor.OutcomeAbstained}, '-': {Outcome: executor.OutcomeOK},
					'D': {executor.OutcomeDegraded, runstate.CauseTimeout}, 'F': {executor.OutcomeFailed, runstate.CauseTimeout},
				}[c]
			}
			got := Evaluate(graph(), own)
			if diff := cmp.Diff(v.marker, got.Marker); diff != "" {
				t.Errorf("marker (-want +got):\n%s", diff)
			}
			if got.Calls != v.calls {
				t.Errorf("calls = %d, want %d", got.Calls, v.calls)
			}
			for i, c := range v.own {
				if got.Steps[i].Skipped != (c == '-') {
					t.Errorf("step %d skipped = %v", i, got.Steps[i].Skipped)
				}
			}
		})
	}
}
