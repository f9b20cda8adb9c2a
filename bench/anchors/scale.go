package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// scale measures what a large fleet and many open runs cost Redis by being there: the constants of the model in
// docs/performance.md.
func scale(s *session) error {
	for _, workers := range size(s, []int{1, 10, 100}, []int{1, 20}) {
		if err := s.idleFleet(workers); err != nil {
			return err
		}
	}
	for _, steps := range size(s, []int{1_000, 10_000}, []int{1_000}) {
		if err := s.heldSteps(steps); err != nil {
			return err
		}
	}
	for _, runs := range size(s, []int{10_000, 100_000, 1_000_000}, []int{20_000}) {
		if err := s.openRuns(runs); err != nil {
			return err
		}
	}
	return nil
}

// idleFleet is workers in one process that have nothing to do, and then one chain at a time.
func (s *session) idleFleet(workers int) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return withRedis(func(addr string, rdb *redis.Client) error {
		spec := s.spec(job.Fourfold, addr)
		spec.Slots, spec.Workers, spec.Announce = slots, workers, 1
		p, err := job.Systems[spec.System].Producer(spec, nil)
		if err != nil {
			return err
		}
		defer p.Close()
		before, err := info(ctx, rdb, "clients", "connected_clients")
		if err != nil {
			return err
		}
		empty, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		w, err := job.Start(ctx, spec)
		if err != nil {
			return err
		}
		defer w.Stop()
		u, seconds, err := s.watched(ctx, rdb, size(s, 15*time.Second, 5*time.Second), size(s, 20*time.Second, 4*time.Second))
		if err != nil {
			return err
		}
		after, err := info(ctx, rdb, "clients", "connected_clients")
		if err != nil {
			return err
		}
		full, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		took := make([]float64, size(s, 100, 20))
		for i := range took {
			if _, took[i], err = oneChain(ctx, p, w); err != nil {
				return err
			}
		}
		slices.Sort(took)
		label := fmt.Sprintf("%d idle workers", workers)
		s.figures.add("scale", label, "Redis CPU of each", "µs/s", u.cpu/seconds/float64(workers))
		s.figures.add("scale", label, "connections of each", "", (after-before)/float64(workers))
		s.figures.add("scale", label, "Redis memory of each", "kB", (full-empty)/1e3/float64(workers))
		s.figures.add("scale", label, "one chain, p50", "ms", median(took))
		s.figures.add("scale", label, "one chain, p99", "ms", quantile(took, 0.99))
		return nil
	})
}

// heldSteps are in flight for as long as it is looked at: what is left is keeping their claims and leases.
func (s *session) heldSteps(steps int) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return withRedis(func(addr string, rdb *redis.Client) error {
		spec := s.spec(job.Fourfold, addr)
		spec.Slots, spec.Step = steps, time.Hour
		if _, err := submitted(ctx, spec, steps, same(job.Run{Queue: queue, Shape: job.Chain, Steps: 1})); err != nil {
			return err
		}
		w, err := job.Start(ctx, spec)
		if err != nil {
			return err
		}
		defer w.Kill()
		if err := holds(ctx, w, int64(steps)); err != nil {
			return err
		}
		u, seconds, err := s.watched(ctx, rdb, time.Second, size(s, 24*time.Second, 8*time.Second))
		if err != nil {
			return err
		}
		s.figures.add("scale", fmt.Sprintf("%d steps in flight", steps), "Redis CPU of each", "µs/s", u.cpu/seconds/float64(steps))
		return nil
	})
}

// watched is what Redis counts for a while, after it was left alone for another.
func (s *session) watched(ctx context.Context, rdb *redis.Client, settle, during time.Duration) (u usage, seconds float64, err error) {
	if err := rest(ctx, settle); err != nil {
		return u, 0, err
	}
	since, err := resetUsage(ctx, rdb)
	if err != nil {
		return u, 0, err
	}
	start := time.Now()
	if err := rest(ctx, during); err != nil {
		return u, 0, err
	}
	u, err = readUsage(ctx, rdb, since)
	return u, time.Since(start).Seconds(), err
}

// openRuns is a queue of runs that a worker sweeps and does not work off, since its one slot is taken.
func (s *session) openRuns(runs int) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return withRedis(func(addr string, rdb *redis.Client) error {
		spec := s.spec(job.Fourfold, addr)
		spec.Slots, spec.Step = 1, time.Hour
		empty, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		if _, err := submitted(ctx, spec, runs, same(three)); err != nil {
			return err
		}
		full, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		w, err := job.Start(ctx, spec)
		if err != nil {
			return err
		}
		defer w.Kill()
		// A sweeper begins when it has been in contact for the length of a claim.
		u, seconds, err := s.watched(ctx, rdb, size(s, 20*time.Second, 14*time.Second), size(s, 20*time.Second, 5*time.Second))
		if err != nil {
			return err
		}
		label := fmt.Sprintf("%d open runs of three steps", runs)
		s.figures.add("scale", label, "Redis memory of each", "B", (full-empty)/float64(runs))
		s.figures.add("scale", label, "Redis CPU of sweeping", "µs/s", u.cpu/seconds)
		s.figures.add("scale", label, "scripts a second", "/s", u.scripts/seconds)
		return nil
	})
}
