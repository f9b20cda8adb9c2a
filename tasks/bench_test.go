package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
)

// The way of a run through producer, Redis and worker, in one process. `make bench` measures the same in several, beside
// other systems.

// handled is a flow of n steps in a chain, each served by a function that does nothing.
func handled(b *testing.B, n int) *flow.Bundle {
	yaml := "flow: chain\nsteps:\n"
	for i := range n {
		yaml += fmt.Sprintf("  - id: s%d\n    handler: nothing\n", i)
		if i > 0 {
			yaml += fmt.Sprintf("    needs: [s%d]\n", i-1)
		}
	}
	bundle, err := flow.Load(fstest.MapFS{"flow.yaml": {Data: []byte(yaml)}}, "flow.yaml")
	if err != nil {
		b.Fatal(err)
	}
	return bundle
}

func nothing(context.Context, flow.Inputs) (executor.Reply[json.RawMessage], error) {
	return executor.Reply[json.RawMessage]{Value: json.RawMessage("1")}, nil
}

func withNothing(cfg *tasks.WorkerConfig) {
	cfg.Handlers = map[string]tasks.Handler{"nothing": nothing}
	cfg.Concurrency = 64
}

// BenchmarkSubmitAndWait is one run after the other: from Submit until Wait has its status.
func BenchmarkSubmitAndWait(b *testing.B) {
	for _, steps := range []int{1, 3} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			f, flow := realFleet(b), handled(b, steps)
			f.worker(newModel(nil), withNothing)
			b.ResetTimer()
			for b.Loop() {
				if s := f.wait(f.submit(flow, "1")); s.Outcome != executor.OutcomeOK {
					b.Fatal(s.Outcome)
				}
			}
		})
	}
}

// BenchmarkSubmit is what a producer can do from many goroutines.
func BenchmarkSubmit(b *testing.B) {
	f, flow := realFleet(b), handled(b, 1)
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := f.client.Submit(context.Background(), tasks.Submission{Bundle: flow, Input: content.New(json.RawMessage("1"))})
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}
