package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

const (
	sweepEvery = time.Second
	sweepHold  = 5 * time.Second // of the sweeper's lock: how long a queue goes unswept when its sweeper dies
	// sweepMost bounds what is looked up in one round trip, and sweepRounds how often in a sweep: two thousand visits cost Redis
	// a tenth of a second, and a million open runs are looked at in ten minutes.
	sweepMost   = 200
	sweepRounds = 10
	sweepAtOnce = 16 // runs that are worked on at a time: their scripts share round trips
	// lookedUpAtOnce is how many units asynq is asked after in one round trip.
	lookedUpAtOnce = 500
	visitSoonest   = 10 * time.Second
	visitLatest    = 5 * time.Minute
	// orphanedAfter is for how long the worker of a unit that is active in asynq, and has no claim, may say nothing before it is
	// rung again: a worker claims at once, or died before it could. How long the unit has waited in the queue before says nothing.
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
	next    map[string]time.Time // queue → when it is asked for the lead again; by this process' clock
	// live says what asynq knows of doorbells.
	live func(ctx context.Context, queue string, ids []string) (map[string]doorbell.Presence, error)
}

// contact is the time for which Redis has answered without a gap in which claims of live workers could have ended.
type contact struct{ since, last time.Time }

func newSweeper(w *Worker) *sweeper {
	return &sweeper{
		w: w, token: rand.Text(), trimmed: map[string]time.Time{}, contact: map[string]contact{}, next: map[string]time.Time{},
		live: func(ctx context.Context, queue string, ids []string) (map[string]doorbell.Presence, error) {
			return doorbell.Live(ctx, w.scripts, queue, ids)
		},
	}
}

// run sweeps until ctx ends: each second where it leads, and where another does it asks now and then, since a large fleet
// that asks costs Redis more than what it asks for.
func (s *sweeper) run(ctx context.Context) {
	for pause(ctx, sweepEvery/2+mathrand.N(sweepEvery)) {
		for _, queue := range s.w.queues() {
			if time.Now().Before(s.next[queue]) {
				continue
			}
			lead, err := s.sweep(ctx, queue)
			if err != nil && ctx.Err() == nil {
				s.w.cfg.Logger.Warn("sweep failed", "queue", queue)
			}
			if err == nil && !lead {
				s.next[queue] = nowPlus(s.askEvery() - sweepEvery)
			}
		}
	}
}

// askEvery is how long somebody who does not lead waits, on average, before he asks again: while the lock of a dead one may
// stand anyway, and often enough to notice an outage in which claims could have ended.
func (s *sweeper) askEvery() time.Duration {
	return min(max(s.w.cfg.Lease/4, sweepEvery), sweepHold/2)
}

// sweep looks after a queue if this worker leads there.
func (s *sweeper) sweep(ctx context.Context, queue string) (lead bool, err error) {
	lead, now, err := s.w.store.Lead(ctx, queue, s.token, sweepHold)
	if err != nil {
		return false, err
	}
	settled := s.settled(queue, now)
	if !lead {
		return false, nil
	}
	visits := max(1, sweepRounds/len(s.w.cfg.Queues)) // who sweeps many queues visits no more runs than for one
	for i := range sweepRounds {
		more, err := s.round(ctx, queue, now, settled, i < visits)
		if err != nil || !more {
			return true, err
		}
		if now, err = s.w.store.Now(ctx, queue); err != nil { // what this round has put into the outbox is due by now
			return true, err
		}
		s.settled(queue, now) // a long sweep is no outage
	}
	return true, nil
}

// round does what is to be done now, with visits if it may; more says that it found as much as it may at once, or made
// something to ring for.
func (s *sweeper) round(ctx context.Context, queue string, now time.Time, settled, visits bool) (more bool, err error) {
	found, err := s.w.store.Look(ctx, queue, now, sweepHold, sweepMost)
	if err != nil {
		return false, err
	}
	redriven := 0
	if settled {
		if redriven, err = s.redriveDead(ctx, queue, found.Dead); err != nil {
			return false, err
		}
		more = len(found.Dead) == sweepMost
	}
	if settled && visits {
		lost, err := s.visit(ctx, queue, found.Due)
		if err != nil {
			return false, err
		}
		redriven += lost
		more = more || len(found.Due) == sweepMost
	}
	if err := s.ring(ctx, queue, found.Unrung); err != nil {
		return false, err
	}
	if now.Sub(s.trimmed[queue]) > trimEvery {
		s.trimmed[queue] = now
		err = s.w.store.TrimFailed(ctx, queue, failedKept, now.Add(-s.w.cfg.Retention))
	}
	return more || redriven > 0 || len(found.Unrung) == sweepMost, err
}

// settled says whether a claim that has ended is a dead worker's. After an outage of Redis claims have ended whose workers
// live, and hold answers that have been paid for: those get the length of a lease to extend them first.
func (s *sweeper) settled(queue string, now time.Time) bool {
	c := s.contact[queue]
	if now.Sub(c.last) > max(2*s.askEvery(), s.w.cfg.Lease/2) {
		c.since = now
	}
	c.last = now
	s.contact[queue] = c
	return now.Sub(c.since) >= s.w.cfg.Lease
}

// redriveDead puts units whose claim has ended back into the outbox, and says how many.
func (s *sweeper) redriveDead(ctx context.Context, queue string, dead []runstate.Entry) (int, error) {
	var n atomic.Int64
	err := each(dead, func(e runstate.Entry) error {
		redriven, err := s.w.store.Redrive(ctx, e.Ref, e.Generation, []runstate.Entry{e}, true)
		n.Add(int64(redriven))
		return err
	})
	s.found(queue, "dead", int(n.Load()))
	return int(n.Load()), err
}

// ring rings for outbox entries that are due: parked, redriven, or left behind by whoever should have rung.
func (s *sweeper) ring(ctx context.Context, queue string, entries []runstate.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := s.w.relay.entries(ctx, entries, inTurn); err != nil {
		return err
	}
	s.found(queue, "unrung", len(entries))
	return nil
}

// visit looks at open runs, and says how many units it has put back into the outbox.
func (s *sweeper) visit(ctx context.Context, queue string, runs []string) (int, error) {
	var mu sync.Mutex
	var idle []runstate.Idle
	bundles := map[string]bool{}
	err := each(runs, func(run string) error {
		id, ref, err := refOf(run)
		if err != nil {
			return nil
		}
		jitter := mathrand.N(visitSoonest / 4)
		change, units, sha, err := s.w.store.Visit(ctx, ref, visitSoonest+jitter, visitLatest+jitter)
		switch {
		case err != nil:
			return err
		case change.Word == runstate.Overdue:
			s.overdue(ctx, id, change)
		case change.Word == runstate.Open:
			mu.Lock()
			defer mu.Unlock()
			idle = append(idle, units...)
			bundles[sha] = true
		default: // gone, done
		}
		return nil
	})
	for sha := range bundles {
		_, renewing := s.w.store.RenewBundle(ctx, sha, bundleKeep)
		err = cmp.Or(err, renewing)
	}
	n, redriving := s.redriveLost(ctx, queue, idle) // of those that were looked at, whatever became of the others
	s.found(queue, "lost", n)
	return n, cmp.Or(err, redriving)
}

// each calls do with all items, some at a time, and returns an error of those that failed. After one no further is begun.
func each[T any](items []T, do func(T) error) error {
	if len(items) == 1 {
		return do(items[0])
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for range min(sweepAtOnce, len(items)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(items) && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := do(items[i]); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// redriveLost puts units of which asynq knows nothing any more back into the outbox, and says how many. Those of a run follow
// each other.
func (s *sweeper) redriveLost(ctx context.Context, queue string, idle []runstate.Idle) (int, error) {
	var lost [][]runstate.Entry // by run
	for some := range slices.Chunk(idle, lookedUpAtOnce) {
		ids := make([]string, len(some))
		for i, u := range some {
			ids[i] = u.Member()
		}
		there, err := s.live(ctx, queue, ids)
		if err != nil {
			return 0, err
		}
		for i, u := range some {
			p := there[ids[i]]
			orphaned := p.Unattended(time.Now()) > orphanedAfter
			if p.Live(time.Now()) && !orphaned {
				continue
			}
			if last := len(lost) - 1; last >= 0 && lost[last][0].Ref == u.Ref {
				lost[last] = append(lost[last], u.Entry)
			} else {
				lost = append(lost, []runstate.Entry{u.Entry})
			}
		}
	}
	var n atomic.Int64
	err := each(lost, func(units []runstate.Entry) error {
		redriven, err := s.w.store.Redrive(ctx, units[0].Ref, units[0].Generation, units, false)
		n.Add(int64(redriven))
		return err
	})
	return int(n.Load()), err
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
