package doorbell

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// listenFor is how long one blocking command waits.
	listenFor = 5 * time.Second
	// mostDeafness is the longest pause of a listener that is woken in vain: by a queue that is paused and not empty, or in
	// a large idle fleet, where each task wakes every process that listens. Pauses are random, so that of many some listen.
	mostDeafness = 250 * time.Millisecond
	// afterBreak is how long a listener waits after an error.
	afterBreak = time.Second
)

// yard is where the idle servers of a process wait. For each queue one listener holds a blocking command to Redis, as
// long as somebody waits, nobody is on the way to look, and nothing is known to be there.
//
// The command is BLMOVE from the queue's pending list to itself, right to right: it waits until there is an element and
// puts it back where it was. So it hears every producer, and asynq's own moves of delayed tasks, costs Redis nothing while
// nobody is idle, and takes nothing away. (A publish would cost something for each task and each process, just when there
// is most to do; see doc.go.)
type yard struct {
	rdb  redis.UniversalClient
	log  Logger
	stop chan struct{}
	once sync.Once
	done sync.WaitGroup

	mu    sync.Mutex
	idle  []chan wake // of those who wait, longest first; room for one each
	bells map[string]*bell
}

// bell is one queue's state.
type bell struct {
	queue  string
	due    bool // something may be there, and nobody was free to look
	out    bool // somebody whom the listener woke has not looked yet
	armed  bool // the blocking command is under way
	poked  bool // since it was sent: it hears the same, unless it fails
	broken bool // the last one failed
	vain   int  // wake-ups in a row that found nothing
	nudge  chan struct{}
}

// wake tells a server to look into a queue.
type wake struct {
	queue    string
	listened bool // it came from the listener, which waits for the report
}

func newYard(rdb redis.UniversalClient, queues []string, log Logger) *yard {
	y := &yard{rdb: rdb, log: log, stop: make(chan struct{}), bells: map[string]*bell{}}
	for _, queue := range queues {
		y.bells[queue] = &bell{queue: queue, nudge: make(chan struct{}, 1)}
	}
	return y
}

// open starts the listeners; close ends them.
func (y *yard) open() {
	for _, b := range y.bells {
		y.done.Go(func() { y.listen(b) })
	}
}

// shut sends everybody home: nobody sleeps here any more. It may be called more than once.
func (y *yard) shut() { y.once.Do(func() { close(y.stop) }) }

// close shuts the yard, ends the blocking commands by closing the client, and waits for the listeners.
func (y *yard) close() {
	y.shut()
	y.rdb.Close()
	y.done.Wait()
}

func (y *yard) closed() bool {
	select {
	case <-y.stop:
		return true
	default:
		return false
	}
}

// sleep waits until a queue should be looked into; false: the time is over, or the yard is closed.
func (y *yard) sleep(over <-chan time.Time) (wake, bool) {
	me := make(chan wake, 1)
	if w, ok := y.lieDown(me); ok {
		return w, true
	}
	select {
	case w := <-me:
		return w, true
	case <-over:
	case <-y.stop:
	}
	return y.getUp(me)
}

// lieDown takes up what is due, or a place among the idle.
func (y *yard) lieDown(me chan wake) (wake, bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, b := range y.bells {
		if b.due {
			b.due = false
			return wake{b.queue, b.out}, true
		}
	}
	y.idle = append(y.idle, me)
	for _, b := range y.bells {
		b.tap()
	}
	return wake{}, false
}

// getUp leaves the place, unless a wake-up came at the same moment.
func (y *yard) getUp(me chan wake) (wake, bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if i := slices.Index(y.idle, me); i >= 0 {
		y.idle = slices.Delete(y.idle, i, i+1)
		return wake{}, false
	}
	return <-me, true
}

// poke is told that a queue got something from this process. A listening bell hears it too, so then nothing is to do.
func (y *yard) poke(queue string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch b := y.bells[queue]; {
	case b == nil:
	case b.armed:
		b.poked = true
	default:
		b.due = !y.rouse(wake{queue: queue}) || b.due
	}
}

// more is told by a server that is full: a queue that it has just taken from may have more.
func (y *yard) more(queue string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.rouse(wake{queue: queue})
}

// rouse hands a wake-up to the one who lay down last, if anybody is idle.
func (y *yard) rouse(w wake) bool {
	n := len(y.idle)
	if n == 0 {
		return false
	}
	y.idle[n-1] <- w // has room: nobody is roused twice
	y.idle = y.idle[:n-1]
	return true
}

// report says whether a wake-up led to a task.
func (y *yard) report(w wake, found bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	b := y.bells[w.queue]
	switch {
	case found:
		b.vain = 0
	case w.listened:
		b.vain++
	}
	if w.listened {
		b.out = false
		b.tap()
	}
}

// deaf says that some queue cannot be listened to.
func (y *yard) deaf() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, b := range y.bells {
		if b.broken {
			return true
		}
	}
	return false
}

// tap lets the listener look whether it should listen.
func (b *bell) tap() {
	select {
	case b.nudge <- struct{}{}:
	default:
	}
}

// listen is a queue's listener.
func (y *yard) listen(b *bell) {
	for y.arm(b) {
		key := queueKey(b.queue, "pending")
		err := y.rdb.Do(context.Background(), "blmove", key, key, "right", "right", listenFor.Seconds()).Err()
		y.heard(b, err)
		if realError(err) != nil && !sleep(y.stop, afterBreak) {
			return
		}
	}
}

// arm waits until listening makes sense; false: the yard is closed.
func (y *yard) arm(b *bell) bool {
	for {
		ready, vain := y.ready(b, false)
		switch {
		case !ready:
			select {
			case <-b.nudge:
			case <-y.stop:
				return false
			}
			continue
		case vain > 0 && !sleep(y.stop, rand.N(min(time.Millisecond<<min(vain, 20), mostDeafness))):
			return false
		}
		if ready, _ = y.ready(b, true); ready {
			return !y.closed()
		}
	}
}

// ready says whether listening makes sense now; with arm, the bell is then taken as listening.
func (y *yard) ready(b *bell, arm bool) (ready bool, vain int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	ready = len(y.idle) > 0 && !b.due && !b.out
	b.armed = ready && arm
	return ready, b.vain
}

// heard wakes one server when there is something, and minds whether listening works.
func (y *yard) heard(b *bell, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	poked := b.poked
	b.armed, b.poked = false, false
	if realError(err) != nil && poked {
		b.due = !y.rouse(wake{queue: b.queue}) || b.due
	}
	switch {
	case err == nil:
		b.out = true
		b.due = !y.rouse(wake{b.queue, true})
	case errors.Is(err, redis.Nil): // nothing came
	case y.closed():
		return
	case !b.broken:
		y.log.Warn("cannot listen for work: polling", "queue", b.queue, "error", err)
	}
	b.broken = realError(err) != nil
}
