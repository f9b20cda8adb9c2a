package tasks

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/tasks/internal/runstate"
)

// errLost ends the work on a unit whose claim is no longer ours: cancelled, settled, or somebody else's.
var errLost = errors.New("tasks: the claim is lost")

// beatsPerTrip bounds what one script extends, so that ten thousand claims do not hold Redis up.
const beatsPerTrip = 250

// claims are the units that this worker works on. All are extended together, a third of the lease apart.
type claims struct {
	store *runstate.Store
	lease time.Duration
	log   Logger

	mu   sync.Mutex
	held map[*claim]struct{}
}

// claim is one unit in this worker's hands. cut is called with errLost when the claim is lost.
type claim struct {
	task runstate.Task
	cut  context.CancelCauseFunc
}

func newClaims(store *runstate.Store, lease time.Duration, log Logger) *claims {
	return &claims{store: store, lease: lease, log: log, held: map[*claim]struct{}{}}
}

// hold registers a claim; drop must be called when the work is over.
func (c *claims) hold(one *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[one] = struct{}{}
}

func (c *claims) drop(one *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, one)
}

// beat extends the claims until ctx ends. While Redis does not answer they are kept: whoever claims a unit meanwhile, the
// first to complete it wins.
func (c *claims) beat(ctx context.Context) {
	tick := time.NewTicker(c.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.extend(ctx, func(runstate.Task) bool { return true })
	}
}

// extend extends the claims that which names, and ends the work on those that are lost.
func (c *claims) extend(ctx context.Context, which func(runstate.Task) bool) {
	for queue, some := range c.byQueue(which) {
		for len(some) > 0 {
			n := min(beatsPerTrip, len(some))
			c.extendSome(ctx, queue, some[:n])
			some = some[n:]
		}
	}
}

func (c *claims) extendSome(ctx context.Context, queue string, some []*claim) {
	ctx, cancel := context.WithTimeout(ctx, c.lease/3)
	defer cancel()
	tasks := make([]runstate.Task, len(some))
	for i, one := range some {
		tasks[i] = one.task
	}
	held, err := c.store.Beat(ctx, queue, c.lease, tasks)
	if err != nil {
		c.log.Warn("claims could not be extended", "queue", queue, "claims", len(tasks))
		return
	}
	for i, one := range some {
		if !held[i] {
			one.cut(errLost) // work that has just ended is cut in vain
		}
	}
}

func (c *claims) byQueue(which func(runstate.Task) bool) map[string][]*claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string][]*claim{}
	for one := range c.held {
		if which(one.task) {
			out[one.task.Queue] = append(out[one.task.Queue], one)
		}
	}
	return out
}

// listen asks after the claims on a run as soon as steps of it were cancelled: all of them, or with fail_fast those that
// the failure does not concern. A lost message is made up for by the next beat.
func (c *claims) listen(ctx context.Context, rdb redis.UniversalClient) {
	for ctx.Err() == nil {
		p := rdb.PSubscribe(ctx, runstate.CancelChannels)
		stop := context.AfterFunc(ctx, func() { _ = p.Close() })
		for m := range p.Channel() {
			run := runstate.CanceledRun(m.Channel)
			c.extend(ctx, func(t runstate.Task) bool { return t.Run == run })
		}
		stop()
		_ = p.Close()
		if !pause(ctx, time.Second/2+rand.N(time.Second)) {
			return
		}
	}
}

// pause waits; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
