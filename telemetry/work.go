package telemetry

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"fourfold/executor"
)

// StepDuplicate counts a delivery that was not needed.
func (s *Sink) StepDuplicate(_ context.Context, flow string, step executor.StepID) {
	if s.ended() {
		return
	}
	s.statsd.count("step.duplicates", 1, s.names.flowStep(flow, step))
}

// StepParked counts a step that was put back.
func (s *Sink) StepParked(_ context.Context, flow string, step executor.StepID, wait time.Duration) {
	if s.ended() {
		return
	}
	tags := s.names.flowStep(flow, step)
	s.statsd.count("step.parked", 1, tags)
	s.statsd.distribution("step.park_wait", wait.Seconds(), tags)
}

type runKey struct {
	flow, cause string
	outcome     executor.Outcome
}

type runMeter struct{ meter }

func (s *Sink) newRunMeter(k runKey) *runMeter {
	tags := []string{tag("flow", s.names.flow(k.flow)), tag("outcome", k.outcome.String()), tag("cause", k.cause)}
	m := &runMeter{}
	m.counts = []counter{{name: "run.finished", tags: tags}}
	m.dists = []samples{{name: "run.latency", tags: tags}}
	return m
}

// RunFinished counts the run and logs it.
func (s *Sink) RunFinished(ctx context.Context, r RunFinished) {
	if s.ended() {
		return
	}
	key := runKey{r.Flow, word(r.Cause, runCauses), r.Outcome}
	m := s.runs.get(key)
	for !m.lock() {
		m = s.runs.get(key)
	}
	m.add(0, 1)
	m.observe(0, r.Latency.Seconds())
	m.unlock()
	e := s.log.event(stepLevel(r.Outcome))
	if e == nil {
		return
	}
	e = e.Str("run", ident(r.Run)).Str("flow", ident(r.Flow)).Str("queue", ident(r.Queue)).Stringer("outcome", r.Outcome)
	if r.Cause != "" {
		e = e.Str("cause", ident(r.Cause))
	}
	if step := r.Step.String(); step != "" {
		e = e.Str("step", ident(step))
	}
	e = traced(ctx, e)
	e.Int64("latency_ms", r.Latency.Milliseconds()).Msg("run finished")
}

// QueueSizes sends the gauges of one queue.
func (s *Sink) QueueSizes(q QueueSizes) {
	if s.ended() {
		return
	}
	tags := []string{tag("queue", s.names.queue(q.Queue))}
	s.statsd.gauge("queue.pending", float64(q.Pending), tags)
	s.statsd.gauge("queue.active", float64(q.Active), tags)
	s.statsd.gauge("queue.scheduled", float64(q.Scheduled), tags)
	s.statsd.gauge("queue.retry", float64(q.Retry), tags)
	s.statsd.gauge("queue.archived", float64(q.Archived), tags)
	s.statsd.gauge("queue.outbox", float64(q.Outbox), tags)
	s.statsd.gauge("queue.oldest_pending", q.OldestPending.Seconds(), tags)
}

// Swept counts and logs what the sweeper mended; none is not told.
func (s *Sink) Swept(queue, found string, n int) {
	if s.ended() || n == 0 {
		return
	}
	s.statsd.count("sweeper.found", int64(n), []string{tag("queue", s.names.queue(queue)), tag("found", word(found, sweeperFinds))})
	if e := s.log.event(zerolog.InfoLevel); e != nil {
		e.Str("queue", ident(queue)).Str("found", ident(found)).Int("steps", n).Msg("sweeper mended steps")
	}
}

// Drained counts and logs how the steps in flight ended at a shutdown.
func (s *Sink) Drained(finished, requeued, cut int) {
	if s.ended() {
		return
	}
	for i, n := range []int{finished, requeued, cut} {
		if n > 0 {
			s.statsd.count("drain.steps", int64(n), []string{tag("result", drainResults[i])})
		}
	}
	level := zerolog.InfoLevel
	if cut > 0 {
		level = zerolog.WarnLevel
	}
	if e := s.log.event(level); e != nil {
		e.Int("finished", finished).Int("requeued", requeued).Int("cut", cut).Msg("worker drained")
	}
}
