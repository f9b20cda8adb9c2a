package doorbell

import (
	"sync"
	"time"
)

// places says how many tasks one asynq server may still be handed. A task has a place from then until whoever works on it has
// ended, also when asynq has forgotten it by then.
type places struct {
	slots int
	freed chan struct{} // a place has become free; room for one

	mu       sync.Mutex
	busy     int         // tasks that have reached the handler and not ended
	reserved []time.Time // since when each that was handed to asynq has not reached it, the longest first
}

const (
	// longestAwait bounds the wait for a free place: asynq reckons a task's lease from before it.
	longestAwait = 5 * time.Second
	// noShow is how long a place is kept for a task on its way to the handler. asynq brings it there at once or never: it drops
	// what it cannot decode, and what is past its deadline (D7).
	noShow = 5 * time.Second
)

func newPlaces(slots int) *places { return &places{slots: slots, freed: make(chan struct{}, 1)} }

// left is how many places are free. It may be below zero, after a task came later than expected.
func (p *places) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.reserved) > 0 && time.Since(p.reserved[0]) >= noShow {
		p.reserved = p.reserved[1:]
	}
	return p.slots - p.busy - len(p.reserved)
}

// reserve keeps a place for a task that is handed to asynq.
func (p *places) reserve() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved = append(p.reserved, time.Now())
}

// occupy gives a task that has reached the handler its place: the one reserved last, so that those of tasks that never come
// grow old.
func (p *places) occupy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	if n := len(p.reserved); n > 0 {
		p.reserved = p.reserved[:n-1]
	}
}

// free gives the place of a task that has ended to the next.
func (p *places) free() {
	p.mu.Lock()
	p.busy--
	p.mu.Unlock()
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// await waits until a place is free; false: the time is over, or stop is closed. asynq itself waits only for what it knows of,
// and nothing of what was taken over is among that.
func (p *places) await(stop <-chan struct{}) bool {
	if p.left() > 0 {
		return true
	}
	over := time.NewTimer(longestAwait)
	defer over.Stop()
	for p.left() <= 0 {
		select {
		case <-p.freed:
		case <-over.C:
			return false
		case <-stop:
			return false
		}
	}
	return true
}
