package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// fanned is a way to do a hundred things at a time.
type fanned struct {
	label string
	spec  job.Spec
	run   job.Run
	runs  int // of run, to make a hundred
}

const hundred = 100

func fan(s *session) error {
	asynq := s.spec(job.Asynq, "")
	asynq.Poll = time.Millisecond
	all := []fanned{
		{ours + ", one step → 100 → one step", s.spec(job.Fourfold, ""), job.Run{Queue: queue, Shape: job.Fan, Steps: hundred + 2}, 1},
		{ours + ", for_each over 100 items", s.spec(job.Fourfold, ""), job.Run{Queue: queue, Shape: job.Items, Steps: hundred}, 1},
		{"asynq, 100 tasks, no join", asynq, job.Run{Queue: queue, Steps: 1}, hundred},
	}
	for range s.rounds {
		for _, f := range all {
			if err := s.fanOne(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) fanOne(f fanned) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return withRedis(func(addr string, _ *redis.Client) error {
		f.spec.Redis, f.spec.Slots, f.spec.Announce = []string{addr}, slots, int64(f.runs)
		p, err := job.Systems[f.spec.System].Producer(f.spec, nil)
		if err != nil {
			return err
		}
		defer p.Close()
		w, err := job.Start(ctx, f.spec)
		if err != nil {
			return err
		}
		defer w.Stop()
		took := make([]float64, size(s, 60, 15))
		for i := range took {
			if err := rest(ctx, 30*time.Millisecond); err != nil {
				return err
			}
			start := time.Now()
			for range f.runs {
				if err := p.Submit(ctx, f.run); err != nil {
					return err
				}
			}
			end, err := w.Announced(ctx)
			if err != nil {
				return err
			}
			took[i] = milliseconds(end.Sub(start))
		}
		s.figures.add("fan", f.label, "time, p50", "ms", median(took))
		return nil
	})
}
