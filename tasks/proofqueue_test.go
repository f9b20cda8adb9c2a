package tasks

import (
	"context"
	"math/rand/v2"
	"sync"

	"fourfold/tasks/internal/doorbell"
)

// lossyQueue delivers at least once what it has not lost.
type lossyQueue struct {
	rng   *rand.Rand
	lossy bool
	mu    sync.Mutex
	rings map[string]doorbell.Ring
}

func (q *lossyQueue) Ring(_ context.Context, rings ...doorbell.Ring) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range rings {
		if q.lossy && q.rng.IntN(8) == 0 {
			continue
		}
		q.rings[r.ID] = r
	}
	return nil
}

// take draws a ring; it stays in the queue now and then, as a duplicate.
func (q *lossyQueue) take() (doorbell.Delivery, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := make([]string, 0, len(q.rings))
	for id := range q.rings {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return doorbell.Delivery{}, false
	}
	r := q.rings[ids[q.rng.IntN(len(ids))]]
	if q.rng.IntN(4) > 0 {
		delete(q.rings, r.ID)
	}
	return doorbell.Delivery{Queue: r.Queue, ID: r.ID, Payload: r.Payload}, true
}

func (q *lossyQueue) live(_ context.Context, _ string, ids []string) (map[string]doorbell.Presence, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]doorbell.Presence{}
	for _, id := range ids {
		if _, ok := q.rings[id]; ok {
			out[id] = doorbell.Presence{State: doorbell.Pending}
		}
	}
	return out, nil
}

// sees takes every ring for one that will arrive.
func sees(_ context.Context, _ string, ids []string) (map[string]doorbell.Presence, error) {
	out := map[string]doorbell.Presence{}
	for _, id := range ids {
		out[id] = doorbell.Presence{State: doorbell.Pending}
	}
	return out, nil
}
