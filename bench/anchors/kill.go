package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// killed is how many steps the worker has that is killed.
const killed = 20

// kill ends a worker by kill -9 and takes the time until another has run its steps again. Bare asynq takes up to two
// minutes: it is measured once, while ours is measured, and not with -quick.
func kill(s *session) error {
	var wg sync.WaitGroup
	var anchor error
	var first, last float64
	if !s.quick {
		wg.Go(func() { first, last, anchor = s.killOne(s.spec(job.Asynq, "")) })
	}
	for range s.rounds {
		first, last, err := s.killOne(s.spec(job.Fourfold, ""))
		if err != nil {
			return err
		}
		s.tellKilled(ours, first, last)
	}
	wg.Wait()
	if !s.quick && anchor == nil {
		s.tellKilled("asynq", first, last)
	}
	return anchor
}

func (s *session) tellKilled(label string, first, last float64) {
	s.figures.add("kill", label, "until the first step runs again", "s", first)
	s.figures.add("kill", label, "until the last step runs again", "s", last)
}

// killOne says after how many seconds the first and the last step were done by the other worker.
func (s *session) killOne(spec job.Spec) (first, last float64, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	err = withRedis(func(addr string, _ *redis.Client) error {
		spec.Redis, spec.Slots = []string{addr}, killed
		if _, err := submitted(ctx, spec, killed, same(job.Run{Queue: queue, Shape: job.Chain, Steps: 1})); err != nil {
			return err
		}
		holding := spec
		holding.Step = time.Hour
		victim, err := job.Start(ctx, holding)
		if err != nil {
			return err
		}
		defer victim.Kill()
		if err := holds(ctx, victim, killed); err != nil {
			return err
		}
		heir := spec
		heir.Marks = []int64{1, killed}
		other, err := job.Start(ctx, heir)
		if err != nil {
			return err
		}
		defer other.Stop()
		if err := rest(ctx, 2*time.Second); err != nil { // it is one of a fleet that has been running
			return err
		}
		victim.Kill()
		start := time.Now()
		for i, seconds := range []*float64{&first, &last} {
			at, err := other.Mark(ctx, i)
			if err != nil {
				return fmt.Errorf("after the kill: %w", err)
			}
			*seconds = at.Sub(start).Seconds()
		}
		return nil
	})
	return first, last, err
}

// holds returns when the worker has so many steps.
func holds(ctx context.Context, w *job.Process, steps int64) error {
	for {
		r, err := w.Report(ctx)
		if err != nil || r.Calls >= steps {
			return err
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
