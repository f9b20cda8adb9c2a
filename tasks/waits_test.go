package tasks_test

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
)

// waits reads what the steps of a run wait for until it is as wanted.
func (f *fleet) waits(run tasks.RunID, want map[string]tasks.WaitsFor) {
	f.t.Helper()
	var got map[string]tasks.WaitsFor
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		st, err := f.client.Status(context.Background(), run, tasks.NoValues)
		if err != nil {
			f.t.Fatal(err)
		}
		got = map[string]tasks.WaitsFor{}
		for _, s := range st.Steps {
			if s.WaitsFor != "" {
				got[s.Step.String()] = s.WaitsFor
			}
			if (s.WaitsFor == "") != s.Waits.IsZero() {
				f.t.Fatalf("%s waits for %q since %v", s.Step, s.WaitsFor, s.Waits)
			}
		}
		if maps.Equal(want, got) {
			return
		}
	}
	f.t.Fatalf("waits (-want +got):\n%s", cmp.Diff(want, got))
}

const unservedFlow = `flow: f
steps:
  - {id: handled, handler: nobody, budget: {attempts: 1, per_attempt: 60s, total: 110s}}
  - {id: asked, prompt: p.tmpl, chain: elsewhere, budget: {attempts: 1, per_attempt: 60s, total: 110s}}
  - {id: each, handler: nobody, for_each: '[1, 2]', budget: {attempts: 1, per_attempt: 60s, total: 110s}}
  - {id: after, handler: nobody, needs: [asked], budget: {attempts: 1, per_attempt: 60s, total: 110s}}
`

func TestAStepSaysWhatItWaitsFor(t *testing.T) {
	f := realFleet(t)
	run := f.submit(bundle(t, unservedFlow), "1")
	f.waits(run, map[string]tasks.WaitsFor{"handled": "worker", "asked": "worker", "each": "worker"})
	f.worker(newModel(nil), nil)
	f.waits(run, map[string]tasks.WaitsFor{"handled": "handler", "asked": "chain", "each": "handler"})
}

func TestAStepSaysThatItWaitsForItsProvider(t *testing.T) {
	f := realFleet(t)
	m := newModel(func(context.Context, string, int) (string, error) {
		return "", provider.Judge(provider.Signal{Provider: provider.MustName("stub"), Status: 429, RetryAfter: time.Minute, HasRetryAfter: true})
	})
	f.worker(m, nil)
	run := f.submit(bundle(t, "flow: f\nsteps:\n"+step("a", "")), "1")
	f.waits(run, map[string]tasks.WaitsFor{"a": "provider"})
}

func TestAStepThatIsRunningOrDoneWaitsForNothing(t *testing.T) {
	f := realFleet(t)
	m := newModel(func(ctx context.Context, step string, _ int) (string, error) {
		if step == "slow" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "", errors.New("x")
	})
	f.worker(m, nil)
	run := f.submit(bundle(t, "flow: f\nsteps:\n"+step("quick", "")+step("slow", "")), "1")
	for m.count("slow") == 0 || m.count("quick") < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	f.waits(run, map[string]tasks.WaitsFor{})
}

// A minute is not waited for: the record is made older.
func TestARunThatNoWorkerCanServeIsStuckAfterAMinute(t *testing.T) {
	f := realFleet(t)
	f.worker(newModel(func(context.Context, string, int) (string, error) { return "1", nil }), nil)
	served := f.submit(bundle(t, "flow: g\nsteps:\n"+step("a", "")), "1")
	if st := f.wait(served); st.Outcome != executor.OutcomeOK {
		t.Fatalf("%+v", st)
	}
	run := f.submit(bundle(t, unservedFlow), "1")
	f.waits(run, map[string]tasks.WaitsFor{"handled": "handler", "asked": "chain", "each": "handler"})
	if got := f.stuck(); len(got) != 0 {
		t.Errorf("%v is stuck at once", got)
	}
	ctx, key := context.Background(), "fourfold:{default}:run:"+run.String()
	parked := regexp.MustCompile(`;(\d{13});h\|`)
	var rec string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var err error
		if rec, err = f.rdb.HGet(ctx, key, "s0").Result(); err != nil {
			t.Fatal(err)
		}
		if !parked.MatchString(rec) {
			continue // a worker has it in hand just then
		}
		older := ";" + strconv.FormatInt(time.Now().Add(-61*time.Second).UnixMilli(), 10) + ";h|"
		if err := f.rdb.HSet(ctx, key, "s0", parked.ReplaceAllString(rec, older)).Err(); err != nil {
			t.Fatal(err)
		}
		if got := f.stuck(); len(got) == 1 && got[0] == run {
			return
		}
	}
	t.Fatalf("the run is never stuck; the record of its parked step: %q", rec)
}

func (f *fleet) stuck() (runs []tasks.RunID) {
	f.t.Helper()
	found, err := f.client.List(context.Background(), tasks.ListFilter{Stuck: true})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, st := range found {
		runs = append(runs, st.Run)
	}
	return runs
}
