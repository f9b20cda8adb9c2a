package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"sync"
	"time"

	"fourfold/provider"
)

func main() {
	scale := flag.Float64("scale", 0.1, "how long silences, timers and outages last, as a share of the benchmark's")
	flag.Parse()
	if *scale <= 0 || *scale > 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(run(clock(*scale)))
}

// run returns the exit status.
func run(c clock) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	systems := []system{{"patient", provider.Patient}, {"eager", nil}}
	results := play(ctx, systems, c)
	if ctx.Err() != nil {
		return 1
	}
	report(os.Stdout, systems, results)
	for _, r := range results[0] {
		if r.verdict != pass {
			return 1
		}
	}
	return 0
}

// play meets every system with every fault, all at the same time: each has servers and clients of its own.
func play(ctx context.Context, systems []system, c clock) [][]result {
	results := make([][]result, len(systems))
	var running sync.WaitGroup
	for i, s := range systems {
		results[i] = make([]result, len(faults))
		for j, f := range faults {
			running.Go(func() { results[i][j] = meet(ctx, s, f, c) })
		}
	}
	running.Wait()
	return results
}

// clock turns the benchmark's seconds into ours.
type clock float64

func (c clock) of(seconds float64) time.Duration {
	return time.Duration(seconds * float64(c) * float64(time.Second))
}
