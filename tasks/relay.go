package tasks

import (
	"context"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// relay rings for what a script made runnable, and then takes it off the outbox. Whoever fails in between leaves the
// entry there, and the sweeper rings; to ring twice is harmless.
type relay struct {
	store  *runstate.Store
	ringer ringer
}

// ringer puts doorbells into the queue, each at least once.
type ringer interface {
	Ring(ctx context.Context, rings ...doorbell.Ring) error
}

// change rings for all that one change of one run made runnable.
func (r *relay) change(ctx context.Context, run RunID, sha flow.SHA, c runstate.Change) error {
	if len(c.Ready) == 0 {
		return nil
	}
	rings := make([]doorbell.Ring, 0, len(c.Ready))
	entries := make([]runstate.Entry, 0, len(c.Ready))
	headers := traceHeaders(ctx, "")
	for _, ready := range c.Ready {
		e := c.Entry(run.ref(), ready)
		if ready.Unit == runstate.DoneUnit {
			if err := r.entries(ctx, []runstate.Entry{e}, inTurn); err != nil {
				return err
			}
			continue
		}
		rings = append(rings, payload{run, sha, c.Generation, ready.Unit, 0, ready.Marker}.ring(headers))
		entries = append(entries, e)
	}
	if len(rings) == 0 {
		return nil
	}
	if err := r.ringer.Ring(ctx, rings...); err != nil {
		return err
	}
	return r.store.Rung(ctx, run.Queue(), entries...)
}

// turn is where in the queue a unit goes of which only the outbox knows.
type turn bool

const (
	inTurn turn = false // behind those that wait, unless it has been lost with a worker
	ahead  turn = true  // of them
)

// entries rings for outbox entries of one queue of which only the outbox knows; what is no longer runnable is dropped. A unit
// that had its turn, and lost it with its worker, goes ahead of those that wait: in a long queue it would wait all over.
func (r *relay) entries(ctx context.Context, entries []runstate.Entry, when turn) error {
	if len(entries) == 0 {
		return nil
	}
	orders, err := r.store.Orders(ctx, entries)
	if err != nil {
		return err
	}
	var rings []doorbell.Ring
	for _, o := range orders {
		if ring, ok := ringOf(o, traceHeaders(ctx, o.Trace)); ok {
			ring.Ahead = o.Lost || when == ahead
			rings = append(rings, ring)
		}
	}
	if len(rings) > 0 {
		if err := r.ringer.Ring(ctx, rings...); err != nil {
			return err
		}
	}
	return r.store.Rung(ctx, entries[0].Queue, entries...)
}

func ringOf(o runstate.Order, headers map[string]string) (doorbell.Ring, bool) {
	if !o.Valid {
		return doorbell.Ring{}, false
	}
	if o.Unit == runstate.DoneUnit {
		return doneRing(o, headers), true
	}
	run, err := ParseRunID(o.Run)
	if err != nil {
		return doorbell.Ring{}, false
	}
	var p payload
	if p.SHA, err = executor.ParsePromptSHA(o.BundleSHA); err != nil {
		return doorbell.Ring{}, false
	}
	p.Run, p.Generation, p.Unit, p.Redrive, p.Marker = run, o.Generation, o.Unit, o.Redrive, o.Marker
	return p.ring(headers), true
}
