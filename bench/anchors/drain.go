package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// contender is a system as it is set up for a comparison.
type contender struct {
	label string
	spec  job.Spec // without addresses
	runs  int
	run   func(i int) job.Run
	until int // of the runs, how many must have finished; zero: all
	often int // times a round; zero: 1
}

// drained is how a full queue was worked off.
type drained struct {
	took   time.Duration // from the first step to the last run's end
	runs   int
	steps  int
	report job.Report
	usage  usage
}

func (d drained) rate() float64 { return float64(d.runs) / d.took.Seconds() }

// drain fills a queue, starts a worker process, and waits until it has worked it off.
func (s *session) drain(c contender) (drained, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	var d drained
	if c.spec.System == job.River {
		return d, withPostgres(ctx, func(url string) error {
			c.spec.Postgres = url
			var err error
			d, err = s.drainOn(ctx, c, nil)
			return err
		})
	}
	err := withRedis(func(addr string, rdb *redis.Client) error {
		c.spec.Redis = []string{addr}
		var err error
		d, err = s.drainOn(ctx, c, rdb)
		return err
	})
	return d, err
}

func (s *session) drainOn(ctx context.Context, c contender, rdb *redis.Client) (drained, error) {
	return s.drainFilled(ctx, c, rdb, func() error { return nil })
}

// drainFilled calls filled when the queue is full and no worker has been started.
func (s *session) drainFilled(ctx context.Context, c contender, rdb *redis.Client, filled func() error) (drained, error) {
	if c.until == 0 {
		c.until = c.runs
	}
	d := drained{runs: c.until, steps: c.until * c.run(0).Steps}
	if _, err := submitted(ctx, c.spec, c.runs, c.run); err != nil {
		return d, err
	}
	if err := filled(); err != nil {
		return d, err
	}
	var since float64
	if rdb != nil {
		var err error
		if since, err = resetUsage(ctx, rdb); err != nil {
			return d, err
		}
	}
	c.spec.Marks = []int64{int64(c.until)}
	p, err := job.Start(ctx, c.spec)
	if err != nil {
		return d, err
	}
	defer p.Kill()
	profiled := s.profile != "" && c.spec.System == job.Fourfold
	if profiled {
		p.Profile(filepath.Join(s.profile, fmt.Sprintf("%s-%d.cpu", c.label, c.spec.Slots)))
	}
	end, err := p.Mark(ctx, 0)
	if err != nil {
		return d, fmt.Errorf("%s: %w", c.label, err)
	}
	if profiled {
		if err := p.Profiled(ctx); err != nil {
			return d, err
		}
	}
	if rdb != nil {
		if d.usage, err = readUsage(ctx, rdb, since); err != nil {
			return d, err
		}
	}
	if d.report, err = p.Report(ctx); err != nil {
		return d, err
	}
	d.took = end.Sub(d.report.Begun)
	return d, nil
}

// compare drains the contenders in turn, in an order that turns each round: first all of them, then again those that are to be
// drained more often.
func (s *session) compare(all []contender, tell func(contender, drained)) error {
	turns := 1
	for _, c := range all {
		turns = max(turns, c.often)
	}
	for round := range s.rounds {
		for turn := range turns {
			for i := range all {
				c := all[(i+round)%len(all)]
				if turn >= max(1, c.often) || s.system != "" && c.spec.System != s.system {
					continue
				}
				d, err := s.drain(c)
				if err != nil {
					return err
				}
				tell(c, d)
			}
		}
	}
	return nil
}
