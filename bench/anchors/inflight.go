package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// crowd is many steps at a time.
type crowd struct {
	system string
	steps  int // in flight
	queues int
}

func (c crowd) label() string {
	name := ours
	if c.system == job.Asynq {
		name = asynqFour
	}
	if c.queues == 1 {
		return fmt.Sprintf("%s, %d in flight", name, c.steps)
	}
	return fmt.Sprintf("%s, %d in flight, %d queues", name, c.steps, c.queues)
}

// of is the label of as many steps of a system.
func (c crowd) of(system string) string {
	c.system = system
	return c.label()
}

func inflight(s *session) error {
	crowds := []crowd{
		{job.Fourfold, 10_000, 1},
		{job.Asynq, 10_000, 1},
		{job.Fourfold, 10_000, 8},
		{job.Asynq, 10_000, 8},
		{job.Fourfold, 20_000, 8},
		{job.Asynq, 20_000, 8},
	}
	if s.quick {
		crowds = []crowd{{job.Fourfold, 2_000, 1}, {job.Asynq, 2_000, 1}}
	}
	for _, c := range crowds {
		if s.system != "" && c.system != s.system {
			continue
		}
		if err := s.crowded(c); err != nil {
			return err
		}
	}
	return nil
}

// How many steps each slot does in all, and from when until when the rate is taken: by then they end evenly, all slots are taken,
// and there is more in the queue. Of two steps a slot chance alone makes half a hundredth.
const (
	crowdFrom  = 2
	crowdUntil = 6
	crowdAll   = 7
)

// crowded measures steps of five seconds on average.
func (s *session) crowded(c crowd) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	n, length := int64(c.steps), size(s, 5*time.Second, 2*time.Second)
	return withRedis(func(addr string, rdb *redis.Client) error {
		spec := s.spec(c.system, addr)
		spec.Slots, spec.Step, spec.Spread = c.steps, length, true
		spec.Queues = nil
		for i := range c.queues {
			spec.Queues = append(spec.Queues, fmt.Sprint("q", i))
		}
		spec.Marks = []int64{crowdFrom * n, crowdUntil * n, crowdAll * n}
		run := func(i int) job.Run { return job.Run{Queue: spec.Queues[i%c.queues], Shape: job.Chain, Steps: 1} }
		if _, err := submitted(ctx, spec, crowdAll*c.steps, run); err != nil {
			return err
		}
		w, err := job.Start(ctx, spec)
		if err != nil {
			return err
		}
		defer w.Stop()
		quiet, err := w.Report(ctx)
		if err != nil {
			return err
		}
		stall := watchStalls(ctx, rdb)
		var at [3]time.Time
		sampled := fullest(ctx, w)
		for i := range at {
			if at[i], err = w.Mark(ctx, i); err != nil {
				return err
			}
			if i == 0 && s.profile != "" {
				w.Memory(filepath.Join(s.profile, fmt.Sprintf("%s-%d", c.system, c.steps)))
			}
		}
		full := sampled()
		r, err := w.Report(ctx)
		if err != nil {
			return err
		}
		f, label := &s.figures, c.label()
		f.add("inflight", label, "of the ideal rate", "", (crowdUntil-crowdFrom)*length.Seconds()/at[1].Sub(at[0]).Seconds())
		f.add("inflight", label, "memory a step", "KiB", float64(r.Peak-quiet.Resident)/1024/float64(n))
		each := float64(full.Calls - full.Finished)
		f.add("inflight", label, "most at a time", "steps", each)
		f.add("inflight", label, "stacks a step", "KiB", float64(full.Stacks-quiet.Stacks)/1024/each)
		f.add("inflight", label, "heap a step", "KiB", float64(full.Heap-quiet.Heap)/1024/each)
		f.add("inflight", label, "goroutines a step", "", float64(full.Goroutines-quiet.Goroutines)/each)
		longest, which := stall.slowest(ctx)
		f.add("inflight", label, "longest command in Redis", "ms", longest)
		fmt.Fprintf(os.Stderr, "   %s: the longest command was %s\n", label, which)
		f.add("inflight", label, "longest wait for a PING", "ms", stall.end())
		f.add("inflight", label, "run more than once", "steps", float64(r.Calls-crowdAll*n))
		f.add("inflight", label, "leases lost", "steps", float64(r.Cut+r.Duplicates))
		return nil
	})
}

// fullest looks at the worker every now and then; the function that it returns ends that, and says how the worker was when
// most steps were in flight.
func fullest(ctx context.Context, w *job.Process) func() job.Report {
	ctx, cancel := context.WithCancel(ctx)
	best := make(chan job.Report, 1)
	go func() {
		var most job.Report
		for rest(ctx, 250*time.Millisecond) == nil {
			if r, err := w.Report(context.WithoutCancel(ctx)); err == nil && r.Calls-r.Finished > most.Calls-most.Finished {
				most = r
			}
		}
		best <- most
	}()
	return func() job.Report {
		cancel()
		return <-best
	}
}

// stalls watches how long Redis lets others wait.
type stalls struct {
	rdb  *redis.Client
	stop context.CancelFunc
	max  chan float64
}

func watchStalls(ctx context.Context, rdb *redis.Client) *stalls {
	ctx, cancel := context.WithCancel(ctx)
	w := &stalls{rdb, cancel, make(chan float64, 1)}
	_ = rdb.ConfigSet(ctx, "slowlog-log-slower-than", "1000").Err() // without it slowest says nothing
	_ = rdb.SlowLogReset(ctx).Err()
	go func() {
		longest := 0.0
		for rest(ctx, time.Millisecond) == nil {
			start := time.Now()
			if rdb.Ping(ctx).Err() == nil {
				longest = max(longest, milliseconds(time.Since(start)))
			}
		}
		w.max <- longest
	}()
	return w
}

// end says the longest wait in milliseconds; the machine's own delays are in it.
func (w *stalls) end() float64 {
	w.stop()
	return <-w.max
}

// slowest is Redis' own measure of its longest command, in milliseconds, and its name, of a script the first keys; 0 when
// none took one.
func (w *stalls) slowest(ctx context.Context) (longest float64, which string) {
	log, err := w.rdb.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return 0, ""
	}
	which = "none"
	for _, e := range log {
		if took := milliseconds(e.Duration); took > longest {
			longest, which = took, strings.Join(e.Args[:min(len(e.Args), 6)], " ")
		}
	}
	return longest, which
}
