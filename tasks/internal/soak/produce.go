package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/tasks"
)

// submission is one run of a plan.
type submission struct {
	plan *plan
	run  int
	id   tasks.RunID
}

// submit makes the run, in one of the ways in which producers do and die. One that has died is followed by another, which
// submits under the same key; a run that the first one made is left as it was: only the fleet can ring for it.
func (w *world) submit(rng *rand.Rand, s *submission) (died bool) {
	switch rng.IntN(6) {
	case 0:
		died = w.dieByNetwork(s, 1+rng.IntN(14))
	case 1:
		died = !w.enqueue(s.plan, s.run, 1+upTo(rng, 120*time.Millisecond))
	case 2:
		w.enqueue(s.plan, s.run, 0)
	}
	if s.id.IsZero() {
		s.id = w.insist(s)
	}
	return died
}

// insist submits until it succeeds, as a producer with a key may.
func (w *world) insist(s *submission) tasks.RunID {
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		id, err := w.client.Submit(context.Background(), s.submission())
		if err == nil {
			return id
		}
		if time.Since(begin) > w.patience {
			w.Errorf("submit: %v", err)
			return id
		}
	}
}

func (s *submission) submission() tasks.Submission {
	return tasks.Submission{Bundle: s.plan.bundle, Input: content.New(json.RawMessage(s.plan.input(s.run))), Key: key(s.run)}
}

// errDead is what a producer sees that is dead by then.
var errDead = errors.New("soak: this producer is dead")

// dieByNetwork submits through a client whose process dies, as Redis sees it, at one of its writes: before it makes the
// run, between that and the ring, before the ring is taken off the outbox, or never.
func (w *world) dieByNetwork(s *submission, writes int) (died bool) {
	var left atomic.Int64
	left.Store(int64(writes))
	o := w.options()
	o.MaxRetries, o.DialerRetries = -1, 1
	dial := net.Dialer{Timeout: time.Second}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if left.Load() <= 0 {
			return nil, errDead
		}
		conn, err := dial.DialContext(ctx, network, addr)
		return mortal{conn, &left}, err
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: rdb})
	must(err)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = client.Submit(ctx, s.submission()) // nobody is left to hear of it
	return left.Load() <= 0
}

// mortal is a connection of a process that dies after so many writes, its last one included.
type mortal struct {
	net.Conn
	left *atomic.Int64
}

// Write sends while the process lives.
func (m mortal) Write(b []byte) (int, error) {
	switch left := m.left.Add(-1); {
	case left < 0:
		_ = m.Close() // dead already
		return 0, errDead
	case left == 0:
		n, err := m.Conn.Write(b)
		_ = m.Close() // the answer finds nobody
		return n, err
	}
	return m.Conn.Write(b)
}
