package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fourfold/executor"
	"fourfold/tasks"
)

// The runs of one outcome are found among many pages of others, each once, and no more than were asked for.
func TestRunsAreListedByOutcomeAmongManyOthers(t *testing.T) {
	f, ctx := realFleet(t), context.Background()
	f.worker(newModel(func(_ context.Context, step string, _ int) (string, error) {
		if step == "bad" {
			return "", errors.New("x")
		}
		return "1", nil
	}), nil)
	well := f.submit(bundle(t, "flow: f\nsteps:\n"+step("good", "")), "1")
	ill := f.submit(bundle(t, "flow: f\nsteps:\n"+step("bad", "    degrade_to: '0'\n")), "1")
	also := f.submit(bundle(t, "flow: f\nsteps:\n"+step("good", "")), "1")
	f.wait(ill)
	f.wait(well)
	f.wait(also)
	const copies = 1200
	pipe := f.rdb.Pipeline()
	for i := range copies {
		pipe.Copy(ctx, "fourfold:{default}:run:"+well.String(), fmt.Sprintf("fourfold:{default}:run:default.%026d", i), 0, false)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	list := func(o executor.Outcome, limit int) map[tasks.RunID]bool {
		found, err := f.client.List(ctx, tasks.ListFilter{Outcome: o, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		runs := map[tasks.RunID]bool{}
		for _, st := range found {
			if o != executor.OutcomeNone && st.Outcome != o {
				t.Errorf("%s is among the %s", st.Outcome, o)
			}
			runs[st.Run] = true
		}
		if len(runs) != len(found) {
			t.Errorf("%d of %d twice", len(found)-len(runs), len(found))
		}
		return runs
	}
	if got := list(executor.OutcomeDegraded, 50); len(got) != 1 || !got[ill] {
		t.Errorf("DEGRADED: %v", got)
	}
	for limit, want := range map[int]int{1: 1, 700: 700, 5000: copies + 2} {
		if got := len(list(executor.OutcomeOK, limit)); got != want {
			t.Errorf("OK, at most %d: %d, want %d", limit, got, want)
		}
	}
	if got := len(list(executor.OutcomeAbstained, 50)); got != 0 {
		t.Errorf("ABSTAINED: %d", got)
	}
	if got := len(list(executor.OutcomeNone, 5000)); got != copies+3 {
		t.Errorf("any: %d", got)
	}
}
