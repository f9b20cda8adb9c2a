package tasks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
	"fourfold/telemetry"
)

// reportEvery is how often a worker tells of itself, and the sweeper of a queue of the queue.
const reportEvery = 10 * time.Second

// report tells of the worker and of the queues that it sweeps, until ctx ends. A queue's sizes are global, so one worker
// tells of them: the one that sweeps it, which moves when that worker dies.
func (w *Worker) report(ctx context.Context) {
	for pause(ctx, reportEvery) {
		w.cfg.Observer.Fleet(telemetry.Fleet{
			Busy: int64(w.server.Running()), Slots: int64(w.cfg.Concurrency), Strays: executor.Strays() + provider.Strays(), Parked: w.parked.Load(), StraysByStep: w.strays.list(),
		})
		for _, queue := range w.queues() {
			lead, _, err := w.store.Lead(ctx, queue, w.sweeper.token, sweepHold)
			if err != nil || !lead {
				continue
			}
			if q, err := readQueue(ctx, w.store, w.scripts, queue); err == nil {
				w.cfg.Observer.QueueSizes(telemetry.QueueSizes{
					Queue: queue, Pending: q.Pending, Active: q.Active, Scheduled: q.Scheduled, Retry: q.Retry, Archived: q.Archived,
					Outbox: q.Outbox, OldestPending: time.Duration(q.OldestPendingMS) * time.Millisecond,
				})
			}
		}
	}
}

func readQueue(ctx context.Context, store *runstate.Store, rdb redis.UniversalClient, name string) (QueueStatus, error) {
	q, err := doorbell.ReadSizes(ctx, rdb, name)
	if err != nil {
		return QueueStatus{}, err
	}
	own, err := store.Sizes(ctx, name)
	if err != nil {
		return QueueStatus{}, err
	}
	return QueueStatus{
		Queue: name, Pending: q.Pending, Active: own.Claims, Scheduled: q.Scheduled, Retry: q.Retry, Archived: q.Archived,
		Outbox: own.Outbox, OpenRuns: own.Open, FailedRuns: own.Failed, OldestPendingMS: q.OldestPending.Milliseconds(), Paused: q.Paused,
	}, nil
}
