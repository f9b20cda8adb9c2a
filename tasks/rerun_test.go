package tasks_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/tasks"
)

func lifeRerunRepaysNoItemThatHasAValue(t *testing.T, f *fleet) {
	var sick atomic.Bool
	sick.Store(true)
	var mu sync.Mutex
	asked := map[string]int{}
	m := newModel(nil)
	m.reply = func(prompt string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[prompt]++
		if prompt == "Item: 2" && sick.Load() {
			return "", sickness()
		}
		return "7", nil
	}
	f.worker(m, nil)
	yaml := "flow: items\nsteps:\n" + strings.Replace(step("each", "    for_each: input\n"), "p.tmpl", "item.tmpl", 1) + step("after", "    needs: [each]\n")
	run := f.submit(bundle(t, yaml), `[1,2,3]`)
	if s := f.wait(run); s.Marker.Cause != tasks.CauseUpstream5xx {
		t.Errorf("marker %v", s.Marker)
	}
	sick.Store(false)
	if err := f.client.Rerun(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	s := f.wait(run)
	want := map[string]int{"Item: 1": 1, "Item: 2": 3, "Item: 3": 1, "Input: [1,2,3]": 1} // a sick item had two attempts
	if diff := cmp.Diff(want, asked); diff != "" || s.Outcome != executor.OutcomeOK {
		t.Errorf("%v, calls (-want +got):\n%s", s.Outcome, diff)
	}
}

func lifeRerunRepaysNothingThatHasAValue(t *testing.T, f *fleet) {
	sick := true
	m := newModel(func(_ context.Context, step string, _ int) (string, error) {
		if step == "two" && sick {
			return "", sickness()
		}
		return "7", nil
	})
	f.worker(m, nil)
	run := f.submit(bundle(t, threeSteps("")), `1`)
	f.wait(run)
	failed, err := f.client.Failed(context.Background(), tasks.FailedFilter{Cause: tasks.CauseUpstream5xx, Since: time.Hour})
	if err != nil || len(failed) != 1 || failed[0] != run {
		t.Fatalf("failed runs: %v %v", failed, err)
	}
	sick = false
	if err := f.client.Rerun(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	s := f.wait(run)
	if s.Outcome != executor.OutcomeOK || m.count("one") != 1 || m.count("three") != 1 {
		t.Errorf("outcome %v; calls of one %d, of three %d", s.Outcome, m.count("one"), m.count("three"))
	}
	if err := f.client.Rerun(context.Background(), run); !errors.Is(err, tasks.ErrNothingToRerun) {
		t.Errorf("second rerun: %v", err)
	}
	if failed, _ := f.client.Failed(context.Background(), tasks.FailedFilter{}); len(failed) != 0 {
		t.Errorf("still in the failed index: %v", failed)
	}
}
