package tasks

import (
	"math"
	"sync"
	"time"
)

// trusted is how many deliveries of a step say nothing about it: a worker may die of anything, and of whatever else it held.
// A step that has been lost with more workers than that is a suspect.
const trusted = 2

const (
	// suspectPause is how long a suspect waits that has to be alone, or nearly so, and is not; suspectShare is what each other
	// that waits adds to that. They come ahead of their queue: a thousand a second leave it room for the others.
	suspectPause = time.Second
	suspectShare = time.Millisecond
)

// isolation keeps a step that kills its worker from ending what happens to be in flight beside it by crash. A death counts a
// delivery for all that the worker held, so suspects are worked on beside fewer and fewer others of their kind, and for the
// last time each alone: whoever dies then has died of that one, or of something new, and all others have had a worker without
// it. Between the two, the bound falls by the same factor from one delivery to the next, so that the many whom one bad step
// has made suspects are not kept waiting for long.
type isolation struct {
	slots, most int // of the worker; deliveries, after which a step is given up

	mu      sync.Mutex
	inside  map[int]int // suspects in flight by delivery
	refused int         // suspects that have not come again
}

func newIsolation(slots, maxDeliveries int) *isolation {
	return &isolation{slots: slots, most: maxDeliveries, inside: map[int]int{}}
}

// unasked is the highest delivery for which enter need not be asked.
func (i *isolation) unasked() int { return max(1, min(trusted, i.most-1)) }

// width is how many suspects may be in flight together when one is there for the delivery-th time.
func (i *isolation) width(delivery int) int {
	left, all := i.most-delivery, i.most-i.unasked()
	if left <= 0 || all <= 0 {
		return 1
	}
	return max(1, int(math.Pow(float64(i.slots), float64(left)/float64(all))))
}

// enter asks for a place for a suspect; leave must be called when it is no longer in this worker's hands.
func (i *isolation) enter(delivery int) (leave func(), ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	room, n := i.width(delivery), 0
	for d, some := range i.inside {
		room = min(room, i.width(d))
		n += some
	}
	if n >= room {
		return nil, false
	}
	i.inside[delivery]++
	return func() { i.leave(delivery) }, true
}

func (i *isolation) leave(delivery int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inside[delivery]--; i.inside[delivery] == 0 {
		delete(i.inside, delivery)
	}
}

// pause is for how long one that was refused is to stay away.
func (i *isolation) pause() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	away := suspectPause + time.Duration(i.refused)*suspectShare
	i.refused++
	time.AfterFunc(away, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.refused--
	})
	return away
}
