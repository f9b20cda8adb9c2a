package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"fourfold/bench/anchors/internal/job"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == job.WorkerWord {
		if err := job.Serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	o := options{}
	flag.BoolVar(&o.quick, "quick", false, "small sizes, one round, and no workload that takes long")
	flag.BoolVar(&o.write, "write", false, "write docs/benchmarks.md and docs/plots")
	flag.IntVar(&o.rounds, "rounds", 0, "how often each pair is measured; 0: 3, or 1 with -quick")
	flag.IntVar(&o.procs, "procs", max(1, runtime.NumCPU()-1), "GOMAXPROCS of worker processes: Redis needs a core of its own")
	flag.StringVar(&o.profile, "profile", "", "folder for CPU profiles of our saturated workers")
	flag.StringVar(&o.system, "system", "", "of full queues and thousands in flight, this system's part alone: "+ours+", asynq, go-workflows, bullmq, river")
	only := flag.String("only", "", "workloads to run, with commas between; empty: all")
	list := flag.Bool("list", false, "name the workloads and end")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if *list {
		for _, w := range workloads {
			fmt.Printf("%-10s %s\n", w.name, w.what)
		}
		return
	}
	if err := o.check(); err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "anchors:", err)
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(run(o))
}

type options struct {
	quick, write bool
	rounds       int
	procs        int
	profile      string
	system       string
	only         []string
}

func (o *options) check() error {
	if o.rounds <= 0 {
		o.rounds = 3
		if o.quick {
			o.rounds = 1
		}
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(workloads, func(w workload) bool { return w.name == name }) {
			return fmt.Errorf("there is no workload %q: -list names them", name)
		}
	}
	if o.write && (o.quick || len(o.only) > 0 || o.system != "") {
		return errors.New("-write is for whole runs")
	}
	return nil
}

// workload is a part of the run.
type workload struct {
	name, what string
	long       bool // not with -quick, unless it is asked for by name
	run        func(*session) error
}

var workloads = []workload{
	{"chains", "three no-op steps in a chain, at saturation; scripts and round trips a step", false, chains},
	{"sleeps", "three steps of 50 ms in a chain, 200 steps at a time", false, sleeps},
	{"idle", "one chain on an idle fleet: how long it takes; what the idle fleet costs", false, idle},
	{"fan", "a fan-out of 100 and join on an idle fleet", false, fan},
	{"submit", "submitting from 16 goroutines, and enqueue batch", false, submit},
	{"units", "the executor around an attempt, and the telemetry of a step", false, units},
	{"bytes", "Redis memory of open and finished runs", false, bytesPerRun},
	{"inflight", "thousands of steps in flight", false, inflight},
	{"kill", "after kill -9 of a worker, until its steps run again", false, kill},
	{"growth", "cost of a step over open runs, steps, payloads, workers and queues", false, growth},
	{"scale", "what a large fleet and many open runs cost by being there", true, scale},
	{"cluster", "chains over a three-node cluster, by queues", false, cluster},
}

// run returns the exit status: 1 when a workload could not be measured. Goals that are missed are in the report.
func run(o options) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := newSession(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "anchors:", err)
		return 1
	}
	defer s.close()
	status := 0
	start := time.Now()
	for _, w := range workloads {
		if len(o.only) > 0 && !slices.Contains(o.only, w.name) || len(o.only) == 0 && o.quick && w.long {
			continue
		}
		began := time.Now()
		fmt.Fprintf(os.Stderr, "== %s: %s\n", w.name, w.what)
		if err := contained(w.run, s); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", w.name, err)
			status = 1
		}
		fmt.Fprintf(os.Stderr, "   %s took %.1f s\n", w.name, time.Since(began).Seconds())
		if ctx.Err() != nil {
			return 1
		}
	}
	s.took = time.Since(start)
	if err := s.report(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "anchors:", err)
		return 1
	}
	return status
}

// contained turns the panic of a server that does not start into an error.
func contained(run func(*session) error, s *session) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%v", x)
		}
	}()
	return run(s)
}
