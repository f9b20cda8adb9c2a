package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func figuresOf(all ...*figure) *session {
	return &session{options: options{rounds: 1, procs: 1}, figures: all}
}

func TestMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("of %v: got %v, want %v", c.values, got, c.want)
		}
	}
}

// A round on a busy machine slows both: only what was measured in the same round is compared.
func TestRatioComparesRoundByRound(t *testing.T) {
	a, b := &figure{values: []float64{100, 10, 200}}, &figure{values: []float64{50, 5, 100}}
	if got, ok := ratio(a, b); got != 2 || !ok {
		t.Errorf("got %v, %v; want 2, true", got, ok)
	}
	once := &figure{values: []float64{4}}
	if got, ok := ratio(a, once); got != a.median()/4 || !ok {
		t.Errorf("of one that was measured more often: %v, %v", got, ok)
	}
	if _, ok := ratio(a, nil); ok {
		t.Error("a figure that is not there was compared")
	}
}

func TestGoals(t *testing.T) {
	fig := func(workload, system, metric string, value float64) *figure {
		return &figure{workload: workload, system: system, metric: metric, values: []float64{value}}
	}
	for _, c := range []struct {
		name string
		of   figures
		goal string
		want verdict
	}{
		{"nothing measured", nil, "with steps of 50 ms", verdict{}},
		{"met", figures{fig("sleeps", ours, "of the ideal", 0.98)}, "with steps of 50 ms", verdict{"0.98", true}},
		{"missed", figures{fig("sleeps", ours, "of the ideal", 0.96)}, "with steps of 50 ms", verdict{"0.96", false}},
		{"a ratio", figures{fig("chains", ours, "chains a second", 90), fig("chains", asynqFour, "chains a second", 100)}, "durable chains", verdict{"0.90 ×", false}},
		{
			"one bound of two",
			figures{fig("idle", ours, "one chain, p50", 0.9), fig("idle", ours, "one chain, p99", 3)},
			"one chain of three",
			verdict{"0.9; 3", false},
		},
		{
			"beside another system",
			figures{
				fig("inflight", ours+", 20000 in flight, 8 queues", "of the ideal rate", 0.97),
				fig("inflight", asynqFour+", 20000 in flight, 8 queues", "of the ideal rate", 1),
			},
			"20,000 of them beside asynq",
			verdict{"0.97 ×", false},
		},
		{"half measured", figures{fig("idle", ours, "one chain, p50", 0.9)}, "one chain of three", verdict{}},
		{
			"flat",
			figures{
				fig("growth", "open runs in the queue: 1000", redisACost, 50), fig("growth", "open runs in the queue: 100000", redisACost, 55),
				fig("growth", "steps of a run: 1", redisACost, 100), fig("growth", "steps of a run: 256", redisACost, 40),
			},
			"cost of a step",
			verdict{"open runs in the queue: 1.10 × from first to last; steps of a run: 0.40 × from first to last", true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, g := range goals {
				if strings.HasPrefix(g.what, c.goal) {
					if diff := cmp.Diff(c.want, g.judge(c.of), cmp.AllowUnexported(verdict{})); diff != "" {
						t.Error(diff)
					}
					return
				}
			}
			t.Fatalf("no goal begins %q", c.goal)
		})
	}
}

func TestTheDocumentHasEachGoalAndEachFigure(t *testing.T) {
	s := figuresOf(
		&figure{"chains", ours, "chains a second", "/s", []float64{1000, 1200, 1100}},
		&figure{"scripts", "complete", "median", "µs", []float64{29}},
	)
	var b strings.Builder
	if err := s.document(&b); err != nil {
		t.Fatal(err)
	}
	for _, g := range goals {
		if !strings.Contains(b.String(), "| "+g.what+" | "+g.want+" |") {
			t.Errorf("the goal %q is not there", g.what)
		}
	}
	for _, want := range []string{"| fourfold | 1100 /s (1000–1200) |", "| complete | 29 µs |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not there:\n%s", want, b.String())
		}
	}
}

func TestBenchmarkLinesAreRead(t *testing.T) {
	s := figuresOf()
	n := s.tellUnits("goos: linux\nBenchmarkRun/one_attempt-2   \t 1000000\t       804.5 ns/op\t     336 B/op\t       2 allocs/op\n" +
		"BenchmarkClientAlone \t 1 \t 480 ns/op\t 131 B/op\t 0 allocs/op\nPASS\n")
	if n != 2 {
		t.Fatalf("%d benchmarks were read, want 2", n)
	}
	if f := s.figures.find("units", "Run/one attempt", "time"); f == nil || f.median() != 804.5 {
		t.Errorf("got %+v", f)
	}
	if f := s.figures.find("units", "ClientAlone", "allocations"); f == nil || f.median() != 0 {
		t.Errorf("got %+v", f)
	}
}

// The model, at numbers that can be checked by hand.
func TestModelAddsUpWhatALoadCosts(t *testing.T) {
	c := constants{redisStep: 50, workerStep: 60, redisHeld: 2, redisIdle: 100, connections: 20, idle: 500_000, open: 1000, finished: 800}
	l := load{workers: 100, step: 5, openRuns: 100_000, nodes: 1, kept: hour}
	got := l.bill(c)
	// 10,000 in flight, 2,000 steps a second: 0.1 for the steps, 0.02 for claims, 0.01 for workers.
	want := bill{stepsPerSecond: 2000, core: 0.13, connections: 2000, gigabytes: 2.07, workerCores: 0.0012}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(bill{}), cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
		t.Error(diff)
	}
	if first := got.first(); first != "nothing" {
		t.Errorf("what gives way: %s", first)
	}
	l.workers, l.openRuns = 1000, 1_000_000
	if first := l.bill(c).first(); first != "Redis' core, `maxclients`" {
		t.Errorf("what gives way: %s", first)
	}
}
