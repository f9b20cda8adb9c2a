package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// TestMain lets the test's own program be the worker processes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == job.WorkerWord {
		if err := job.Serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func testSession(t *testing.T) *session {
	t.Helper()
	s, err := newSession(t.Context(), options{quick: true, rounds: 1, procs: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func TestEachSystemDoesTheWholeJob(t *testing.T) {
	s := testSession(t)
	waiting := contender{label: asynqWoken, spec: withSlots(s.spec(job.Asynq, ""), 4), runs: 20, run: same(three)}
	waiting.spec.Woken, waiting.spec.Servers = true, 1
	for _, c := range append(s.contenders(4, 20, 20), waiting) {
		t.Run(c.label, func(t *testing.T) {
			d, err := s.drain(c)
			if err != nil {
				t.Fatal(err)
			}
			got := []int64{d.report.Finished, d.report.Calls, d.report.Cut, d.report.Duplicates}
			if diff := cmp.Diff([]int64{20, 60, 0, 0}, got); diff != "" {
				t.Errorf("finished, calls, cut, duplicates: %s", diff)
			}
			if d.took <= 0 || d.report.CPU <= 0 {
				t.Errorf("took %v, of CPU %v", d.took, d.report.CPU)
			}
			if c.spec.System != job.River && (d.usage.scripts == 0 || d.report.Writes == 0) {
				t.Errorf("no scripts (%v) or no round trips (%d) were counted", d.usage.scripts, d.report.Writes)
			}
		})
	}
}

func TestEachShapeRunsAllItsSteps(t *testing.T) {
	s := testSession(t)
	for _, c := range []struct {
		run   job.Run
		calls int64
	}{
		{job.Run{Queue: queue, Shape: job.Chain, Steps: 1}, 1},
		{job.Run{Queue: queue, Shape: job.Chain, Steps: 5}, 5},
		{job.Run{Queue: queue, Shape: job.Fan, Steps: 7}, 7},
		{job.Run{Queue: queue, Shape: job.Items, Steps: 6}, 6},
		{job.Run{Queue: queue, Shape: job.Chain, Steps: 2, Input: 5000}, 2},
	} {
		d, err := s.drain(contender{label: ours, spec: withSlots(s.spec(job.Fourfold, ""), 4), runs: 1, run: same(c.run)})
		if err != nil {
			t.Fatalf("%+v: %v", c.run, err)
		}
		if d.report.Calls != c.calls {
			t.Errorf("%+v: %d steps were run, want %d", c.run, d.report.Calls, c.calls)
		}
	}
}

func withSlots(spec job.Spec, n int) job.Spec {
	spec.Slots = n
	return spec
}

// Scripts are told apart by the SHA-1 of our sources and by the keys of asynq's; a name that no longer fits shows here.
func TestEveryScriptIsKnownByName(t *testing.T) {
	s := testSession(t)
	if err := s.scripts(filepath.Join(s.root, "tasks", "internal", "runstate", "lua")); err != nil {
		t.Fatal(err)
	}
	calls := map[string]float64{}
	for _, f := range s.figures {
		if f.metric == "calls a step" {
			calls[f.system] = f.median()
		}
	}
	// Those of ours serve several steps and runs at once.
	for name, least := range map[string]float64{"asynq: take": 0.3, "asynq: done": 0.3, createName: 0.001, "quick_complete": 0.01} {
		if calls[name] < least {
			t.Errorf("%s: %.2f calls a step; the scripts seen are %v", name, calls[name], calls)
		}
	}
	for name, n := range calls {
		if strings.Contains(name, "other") && n > 0.1 {
			t.Errorf("%s is called %.2f times a step and has no name", name, n)
		}
	}
}

func TestUsageIsThatSinceTheReset(t *testing.T) {
	err := withRedis(func(_ string, rdb *redis.Client) error {
		ctx := t.Context()
		script := redis.NewScript("return 1")
		if err := script.Run(ctx, rdb, nil).Err(); err != nil {
			return err
		}
		since, err := resetUsage(ctx, rdb)
		if err != nil {
			return err
		}
		for range 3 {
			if err := script.Run(ctx, rdb, nil).Err(); err != nil {
				return err
			}
		}
		u, err := readUsage(ctx, rdb, since)
		if err != nil {
			return err
		}
		if u.scripts != 3 || u.cpu < 0 {
			t.Errorf("%v scripts, %v µs of CPU; want 3 scripts", u.scripts, u.cpu)
		}
		used, err := usedMemory(ctx, rdb)
		if used <= 0 {
			t.Errorf("used memory %v", used)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAWorkerThatIsGoneIsAnError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := job.Start(ctx, job.Spec{System: "no such system"}); err == nil {
		t.Error("a worker of a system that is not there was started")
	}
}
