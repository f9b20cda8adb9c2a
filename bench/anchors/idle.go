package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// riverPoll is how often a tuned River looks.
const riverPoll = 10 * time.Millisecond

// asynqWoken is what the goal for an idle chain was set by: it took 0.62 ms, and 0.99 for the 99th of a hundred, when ours was to
// take 1.0 and 2.5.
const asynqWoken = "asynq, waiting in BLMOVE"

// idler is a system on an idle fleet.
type idler struct {
	label string
	spec  job.Spec
	share float64 // of the usual number of chains: those that take a second a step get few
	often int     // how often a round
}

func idle(s *session) error {
	asynq := func(label string, poll time.Duration, share float64) idler {
		spec := s.spec(job.Asynq, "")
		spec.Poll, spec.Servers = poll, 1
		return idler{label, spec, share, 1}
	}
	woken := asynq(asynqWoken, 0, 1)
	woken.spec.Woken, woken.often = true, s.closely()
	fit := s.spec(job.River, "")
	fit.Poll = riverPoll
	all := []idler{
		{ours, s.spec(job.Fourfold, ""), 1, s.closely()},
		woken,
		asynq("asynq, polling every 1 ms", time.Millisecond, 1),
		asynq("asynq, polling every 10 ms", 10*time.Millisecond, 0.5),
		{workflowsFit, s.spec(job.Workflows, ""), 1, 1},
	}
	if !s.quick {
		all = append(all, asynq("asynq as it comes", 0, 0.02))
	}
	if job.BullMQThere() {
		all = append(all, idler{bullMQFlow, s.spec(job.BullMQ, ""), 1, 1})
	}
	if postgresThere() {
		all = append(all, idler{riverFit, fit, 0.5, 1})
	}
	for turn := range s.rounds * s.closely() {
		for _, who := range all {
			if turn >= s.rounds*who.often {
				continue
			}
			if err := s.idleOne(who); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) idleOne(who idler) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	who.spec.Slots, who.spec.Announce = slots, 1
	if who.spec.System == job.River {
		return withPostgres(ctx, func(url string) error {
			who.spec.Postgres = url
			return s.idleOn(ctx, who, nil)
		})
	}
	return withRedis(func(addr string, rdb *redis.Client) error {
		who.spec.Redis = []string{addr}
		return s.idleOn(ctx, who, rdb)
	})
}

func (s *session) idleOn(ctx context.Context, who idler, rdb *redis.Client) error {
	tally := &job.Tally{}
	p, err := job.Systems[who.spec.System].Producer(who.spec, tally)
	if err != nil {
		return err
	}
	defer p.Close()
	w, err := job.Start(ctx, who.spec)
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := rest(ctx, time.Second); err != nil { // the fleet becomes idle
		return err
	}
	quiet, err := s.idleCost(ctx, who, w, rdb)
	if err != nil {
		return err
	}
	n := max(3, int(float64(size(s, 300, 60))*who.share))
	before, err := w.Report(ctx)
	if err != nil {
		return err
	}
	trips, start := tally.Trips(), time.Now()
	took, submitting := make([]float64, n), make([]float64, n)
	for i := range took {
		if submitting[i], took[i], err = oneChain(ctx, p, w); err != nil {
			return err
		}
	}
	after, err := w.Report(ctx)
	if err != nil {
		return err
	}
	slices.Sort(took)
	s.figures.add("idle", who.label, "of it the producer, p50", "ms", median(submitting))
	s.figures.add("idle", who.label, "one chain, p50", "ms", median(took))
	s.figures.add("idle", who.label, "one chain, p99", "ms", quantile(took, 0.99))
	if rdb != nil {
		worker := float64(after.Writes-before.Writes) - quiet*time.Since(start).Seconds()
		s.figures.add("idle", who.label, "round trips a step, producer's included", "", (worker+float64(tally.Trips()-trips))/float64(n*three.Steps))
	}
	if who.label == ours {
		return s.idleWait(ctx, p, n)
	}
	return nil
}

// oneChain takes the time of a chain in milliseconds: from before it is submitted until its producer goes on, and until its
// last step is done; for ours, until that is recorded.
func oneChain(ctx context.Context, p job.Producer, w *job.Process) (submitted, done float64, err error) {
	if err := rest(ctx, 10*time.Millisecond+rand.N(20*time.Millisecond)); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := p.Submit(ctx, three); err != nil {
		return 0, 0, err
	}
	submitted = milliseconds(time.Since(start))
	end, err := w.Announced(ctx)
	return submitted, milliseconds(end.Sub(start)), err
}

// idleWait takes the time until Client.Wait of the producer has the result.
func (s *session) idleWait(ctx context.Context, p job.Producer, n int) error {
	waiter, ok := p.(interface {
		SubmitAndWait(context.Context, job.Run) error
	})
	if !ok {
		return fmt.Errorf("our producer cannot wait")
	}
	took := make([]float64, n)
	for i := range took {
		if err := rest(ctx, 10*time.Millisecond+rand.N(20*time.Millisecond)); err != nil {
			return err
		}
		start := time.Now()
		if err := waiter.SubmitAndWait(ctx, three); err != nil {
			return err
		}
		took[i] = milliseconds(time.Since(start))
	}
	slices.Sort(took)
	s.figures.add("idle", ours, "until Client.Wait returns, p50", "ms", median(took))
	return nil
}

// idleCost is what a worker that has nothing to do costs. It says the worker's round trips a second.
func (s *session) idleCost(ctx context.Context, who idler, w *job.Process, rdb *redis.Client) (float64, error) {
	var since float64
	if rdb != nil {
		var err error
		if since, err = resetUsage(ctx, rdb); err != nil {
			return 0, err
		}
	}
	before, err := w.Report(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := rest(ctx, size(s, 15*time.Second, 3*time.Second)); err != nil {
		return 0, err
	}
	after, err := w.Report(ctx)
	if err != nil {
		return 0, err
	}
	seconds := time.Since(start).Seconds()
	s.figures.add("idle", who.label, "CPU of an idle worker", "%", 100*(after.CPU-before.CPU).Seconds()/seconds)
	trips := float64(after.Writes-before.Writes) / seconds
	if rdb == nil {
		return trips, nil
	}
	u, err := readUsage(ctx, rdb, since)
	if err != nil {
		return 0, err
	}
	s.figures.add("idle", who.label, "scripts a second of an idle worker", "/s", u.scripts/seconds)
	s.figures.add("idle", who.label, "round trips a second of an idle worker", "/s", trips)
	return trips, nil
}

// rest waits; the error is that of a context that ends first.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
