package tasks

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/tasks/internal/runstate"
)

// hints tells waiters that a run may have ended, from what scripts publish. A hint may be lost; whoever waits also polls.
// One connection serves all waiters, and is made by the first.
type hints struct {
	rdb redis.UniversalClient

	mu      sync.Mutex
	pubsub  *redis.PubSub
	waiting map[string]map[chan struct{}]struct{} // channel → waiters
}

func newHints(rdb redis.UniversalClient) *hints {
	return &hints{rdb: rdb, waiting: map[string]map[chan struct{}]struct{}{}}
}

// listen returns a channel that gets a token when the run may have ended, and once when listening has begun.
func (h *hints) listen(ctx context.Context, run RunID) (tokens <-chan struct{}, stop func()) {
	channel := runstate.DoneChannel(run.String())
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting[channel] == nil {
		h.waiting[channel] = map[chan struct{}]struct{}{}
		h.subscribe(ctx, channel)
	} else {
		c <- struct{}{} // somebody else's listening has begun
	}
	h.waiting[channel][c] = struct{}{}
	return c, func() { h.stop(channel, c) }
}

// subscribe is called under the lock. A failure is no error: waiters poll, and go-redis subscribes again by itself.
func (h *hints) subscribe(ctx context.Context, channel string) {
	if h.pubsub == nil {
		h.pubsub = h.rdb.Subscribe(context.WithoutCancel(ctx))
		go h.deliver(h.pubsub.ChannelWithSubscriptions())
	}
	_ = h.pubsub.Subscribe(context.WithoutCancel(ctx), channel)
}

func (h *hints) stop(channel string, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting[channel], c)
	if len(h.waiting[channel]) > 0 {
		return
	}
	delete(h.waiting, channel)
	if h.pubsub != nil {
		_ = h.pubsub.Unsubscribe(context.Background(), channel)
	}
}

// deliver ends when close closes the subscription.
func (h *hints) deliver(messages <-chan any) {
	for m := range messages {
		switch m := m.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				h.wake(m.Channel)
			}
		case *redis.Message:
			h.wake(m.Channel)
		}
	}
}

func (h *hints) wake(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.waiting[channel] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (h *hints) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		return nil
	}
	p := h.pubsub
	h.pubsub = nil
	return p.Close()
}

// pollEvery is how often somebody who waits looks without a hint.
const pollEvery = 2 * time.Second

// Wait returns the status when the run is done, or the context's error when that ends first. It may be called any number
// of times, by any number of processes. Errors: ErrNotFound, those of Redis once they have lasted for a minute.
func (c *Client) Wait(ctx context.Context, run RunID, v Values) (Status, error) {
	err := c.follow(ctx, run, pollEvery, func(finished bool, _ int) (bool, error) { return finished, nil })
	if err != nil {
		return Status{}, err
	}
	return c.Status(ctx, run, v)
}

// watchEvery is how often Watch looks for progress.
const watchEvery = 200 * time.Millisecond

// Watch calls f with a status, without values, at once and whenever counts or states have changed, until the run is done.
// Errors as for Wait.
func (c *Client) Watch(ctx context.Context, run RunID, f func(Status)) error {
	var last string
	return c.follow(ctx, run, watchEvery, func(bool, int) (bool, error) {
		s, err := c.Status(ctx, run, NoValues)
		if err != nil {
			return false, err
		}
		now, err := s.JSON()
		if err != nil {
			return false, err
		}
		if string(now) != last {
			last = string(now)
			f(s)
		}
		return s.Done(), nil
	})
}

// outageAllowed is how long a waiter puts up with a Redis that does not answer.
const outageAllowed = time.Minute

// follow looks at the run at each hint and poll until look says that it is enough.
func (c *Client) follow(ctx context.Context, run RunID, every time.Duration, look func(finished bool, generation int) (bool, error)) error {
	tokens, stop := c.hints.listen(ctx, run)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	answered := time.Now()
	for {
		finished, generation, ok, err := c.store.State(ctx, run.ref())
		var enough bool
		switch {
		case err == nil && !ok:
			return ErrNotFound
		case err == nil:
			enough, err = look(finished, generation)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && enough:
			return nil
		case err == nil:
			answered = time.Now()
		case time.Since(answered) > outageAllowed:
			return err
		}
		select {
		case <-tokens:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
