package runstate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

// BenchmarkChain is the life of a run of three steps in a chain, one script after the other, as a worker that goes on with
// each step has it. redis-µs is what Redis spent in scripts.
func BenchmarkChain(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	s := newStore(b, rdb)
	ctx := b.Context()
	ok := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	ok(s.Load(ctx))
	graph := oracle.Link([]runstate.Node{
		{ID: "a"}, {ID: "b", Parents: []runstate.Edge{{Step: 0, Mode: 'r'}}}, {ID: "c", Parents: []runstate.Edge{{Step: 1, Mode: 'r'}}},
	})
	ok(rdb.ConfigResetStat(ctx).Err())
	b.ResetTimer()
	for i := range b.N {
		n := newRun(fmt.Sprint("run", i), graph)
		_, err := s.Create(ctx, n, nil)
		ok(err)
		task := runstate.Task{Ref: n.Ref, Generation: 1, Unit: runstate.Step(0), Token: "a"}
		c, _, err := s.Begin(ctx, task, terms)
		ok(err)
		if c.Word != runstate.Claimed {
			b.Fatal(c.Word)
		}
		for step := range graph {
			task.Unit = runstate.Step(step)
			c, err = s.Complete(ctx, task, runstate.Ending{
				Outcome: executor.OutcomeOK, Value: []byte("1"),
				Onward: runstate.Onward{Token: "a", Lease: terms.Lease, Steps: map[int]runstate.Terms{step + 1: {}}},
			})
			ok(err)
			if c.Word != runstate.Settled || (c.Next != nil) != (step < 2) {
				b.Fatalf("step %d: %+v", step, c)
			}
		}
	}
	b.StopTimer()
	b.ReportMetric(scriptMicros(b, rdb)/float64(b.N), "redis-µs/op")
}

// scriptMicros is what Redis spent in scripts since its statistics were reset.
func scriptMicros(b *testing.B, rdb *redis.Client) float64 {
	text, err := rdb.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, "cmdstat_evalsha:"); found {
			var calls, micros float64
			if _, err := fmt.Sscanf(rest, "calls=%g,usec=%g", &calls, &micros); err != nil {
				b.Fatal(err)
			}
			return micros
		}
	}
	b.Fatal("no script was called")
	return 0
}
