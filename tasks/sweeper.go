package tasks

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

const (
	sweepEvery   = time.Second
	sweepHold    = 5 * time.Second // of the sweeper's lock: how long a queue goes unswept when its sweeper dies
	sweepMost    = 200             // of each kind in one sweep; more follow in the next
	visitSoonest = 10 * time.Second
	visitLatest  = 5 * time.Minute
	// orphanedAfter is how long a unit may be active in asynq without a claim before it is rung again: a worker claims at
	// once, or died before it could.
	orphanedAfter = 15 * time.Second
	failedKept    = 10_000
	trimEvery     = time.Minute
)

// elsewherePause is how long a step waits that names what this worker has not got.
const elsewherePause = 5 * time.Second

func nowPlus(d time.Duration) time.Time { return time.Now().Add(d) }

// sweeper sees to it that every open run goes on, whatever was lost: it rings for outbox entries that nobody rang for, for
// units whose worker died, and for units that asynq has lost; it ends runs that are past their deadline. Every worker has
// one; for each queue one of them is at work at a time, and two at once do no harm.
type sweeper struct {
	w       *Worker
	token   string
	trimmed map[string]time.Time // queue → when its dead-letter index was last bounded
	contact map[string]contact   // queue → how long its Redis has answered
	// live says what asynq knows of doorbells.
	live func(ctx context.Context, queue string, ids []string) (map[string]doorbell.Presence, error)
}

// contact is the time for which Redis has answered without a gap in which claims of live workers could have ended.
type contact struct{ since, last time.Time }

func newSweeper(w *Worker) *sweeper {
	return &sweeper{
		w: w, token: rand.Text(), trimmed: map[string]time.Time{}, contact: map[string]contact{},
		live: func(ctx context.Context, queue string, ids []string) (map[string]doorbell.Presence, error) {
			return doorbell.Live(ctx, w.cfg.Redis, queue, ids)
		},
	}
}

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) {
	for pause(ctx, sweepEvery/2+mathrand.N(sweepEvery)) {
		for _, queue := range s.w.queues() {
			if err := s.sweep(ctx, queue); err != nil && ctx.Err() == nil {
				s.w.cfg.Logger.Warn("sweep failed", "queue", queue)
			}
		}
	}
}

func (s *sweeper) sweep(ctx context.Context, queue string) error {
	store := s.w.store
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	lead, err := store.Lead(ctx, queue, s.token, sweepHold)
	if err != nil {
		return err
	}
	settled := s.settled(queue, now)
	if !lead {
		return nil
	}
	if settled {
		if err := s.redriveDead(ctx, queue, now); err != nil {
			return err
		}
		if err := s.visit(ctx, queue, now); err != nil {
			return err
		}
	}
	if err := s.ring(ctx, queue, now); err != nil {
		return err
	}
	if now.Sub(s.trimmed[queue]) > trimEvery {
		s.trimmed[queue] = now
		return store.TrimFailed(ctx, queue, failedKept, now.Add(-s.w.cfg.Retention))
	}
	return nil
}

// settled says whether a claim that has ended is a dead worker's. After an outage of Redis claims have ended whose workers
// live, and hold answers that have been paid for: those get the length of a lease to extend them first.
func (s *sweeper) settled(queue string, now time.Time) bool {
	c := s.contact[queue]
	if now.Sub(c.last) > max(2*sweepEvery, s.w.cfg.Lease/2) {
		c.since = now
	}
	c.last = now
	s.contact[queue] = c
	return now.Sub(c.since) >= s.w.cfg.Lease
}

// redriveDead puts units whose claim has ended back into the outbox.
func (s *sweeper) redriveDead(ctx context.Context, queue string, now time.Time) error {
	dead, err := s.w.store.Dead(ctx, queue, now, sweepMost)
	if err != nil {
		return err
	}
	n := 0
	for _, e := range dead {
		redriven, err := s.w.store.Redrive(ctx, e.Ref, e.Generation, []runstate.Entry{e}, true)
		if err != nil {
			return err
		}
		n += redriven
	}
	s.found(queue, "dead", n)
	return nil
}

// ring rings for outbox entries that are due: parked, redriven, or left behind by whoever should have rung.
func (s *sweeper) ring(ctx context.Context, queue string, now time.Time) error {
	entries, err := s.w.store.Unrung(ctx, queue, now, sweepMost)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := s.w.relay.entries(ctx, entries); err != nil {
		return err
	}
	s.found(queue, "unrung", len(entries))
	return nil
}

// visit looks at open runs in turn.
func (s *sweeper) visit(ctx context.Context, queue string, now time.Time) error {
	runs, err := s.w.store.Due(ctx, queue, now, sweepMost)
	if err != nil {
		return err
	}
	for _, run := range runs {
		id, ref, err := refOf(run)
		if err != nil {
			continue
		}
		jitter := mathrand.N(visitSoonest / 4)
		change, idle, sha, err := s.w.store.Visit(ctx, ref, visitSoonest+jitter, visitLatest+jitter)
		if err != nil {
			return err
		}
		switch change.Word {
		case runstate.Overdue:
			s.overdue(ctx, id, change)
		case runstate.Open:
			if err := s.redriveLost(ctx, ref, change.Generation, idle); err != nil {
				return err
			}
			if _, err := s.w.store.RenewBundle(ctx, sha, bundleKeep); err != nil {
				return err
			}
		default: // gone, done
		}
	}
	return nil
}

// redriveLost puts units of which asynq knows nothing any more back into the outbox.
func (s *sweeper) redriveLost(ctx context.Context, ref runstate.Ref, generation int, idle []runstate.Idle) error {
	if len(idle) == 0 {
		return nil
	}
	ids := make([]string, len(idle))
	for i, u := range idle {
		ids[i] = u.Member()
	}
	there, err := s.live(ctx, ref.Queue, ids)
	if err != nil {
		return err
	}
	var lost []runstate.Entry
	for i, u := range idle {
		p := there[ids[i]]
		orphaned := p.State == doorbell.Active && u.Since > orphanedAfter
		if !p.Live(time.Now()) || orphaned {
			lost = append(lost, u.Entry)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	n, err := s.w.store.Redrive(ctx, ref, generation, lost, false)
	s.found(ref.Queue, "lost", n)
	return err
}

// overdue tells of a run that the visit ended.
func (s *sweeper) overdue(ctx context.Context, id RunID, change runstate.Change) {
	s.found(id.Queue(), "deadline", 1)
	snap, ok, err := s.w.store.Read(ctx, id.ref())
	if err != nil || !ok {
		return
	}
	sha, err := executor.ParsePromptSHA(snap.BundleSHA)
	if err != nil {
		return
	}
	var b *flow.Bundle
	if b, err = s.w.bundles.get(ctx, sha); err != nil {
		return
	}
	s.w.changed(ctx, &job{payload: payload{Run: id, SHA: sha, Unit: runstate.DoneUnit}, bundle: b}, change, nil)
}

func (s *sweeper) found(queue, what string, n int) {
	if n > 0 {
		s.w.cfg.Observer.Swept(queue, what, n)
	}
}
