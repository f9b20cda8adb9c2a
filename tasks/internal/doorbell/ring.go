package doorbell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Ring is one wake-up to deliver: a reference of a few hundred bytes, without content. asynq writes the payload of every
// active task again every five seconds, and its tools show it; so it must be small and may be read by anybody.
type Ring struct {
	Queue   string            // not empty, without braces: the name is a Redis hash tag
	ID      string            // unique within the queue while the ring is undelivered; the same ID again is the same ring
	Payload []byte            // what Delivery.Payload will be
	Headers map[string]string // tracing identifiers; may be nil
	Type    string            // asynq's type, for a ring that somebody else's worker takes; empty: a Server of ours
	Ahead   bool              // of all that wait in the queue: it has waited there before
}

// RingerOptions adjust a Ringer; the zero value is good.
type RingerOptions struct {
	// Timeout is how long one delivery may be worked on before asynq takes it away; zero: 24 hours. It is no step's budget:
	// the run's claims rule, and this must only be longer than any of them.
	Timeout time.Duration
	// Poke is told the queue of each delivered ring; a worker's process hands in Server.Poke. Nil: nobody is told.
	Poke func(queue string)
}

const (
	defaultTimeout = 24 * time.Hour
	// ringsPerPipeline bounds what one round trip carries, so that a large fan-out does not hold Redis up.
	ringsPerPipeline = 256
	// announceEvery is how often a Ringer says again that a queue exists: after a flush or a failover that lost writes,
	// asynq's own client never would, and its tools would say "queue not found" (D14).
	announceEvery = 15 * time.Second
)

// Ringer delivers rings. It is safe for many goroutines and holds nothing to close.
type Ringer struct {
	rdb     redis.UniversalClient
	options RingerOptions
	encoder *encoder

	mu        sync.Mutex
	announced map[string]time.Time // queue → when its name was last written to allQueues
}

// NewRinger returns a Ringer over rdb, which stays the caller's to close. The client is used as it is; with Coalesce on
// it, rings of many goroutines share round trips.
func NewRinger(rdb redis.UniversalClient, options RingerOptions) *Ringer {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	return &Ringer{rdb: rdb, options: options, encoder: newEncoder(), announced: map[string]time.Time{}}
}

// RingError says that some rings may not have been delivered. To ring again is always right.
type RingError struct {
	Failed []int // positions among the rings handed to Ring, ascending; the others were delivered
	Of     int   // how many rings were handed in
	Err    error // why, of the first that failed
}

func (e *RingError) Error() string {
	return fmt.Sprintf("doorbell: %d of %d rings failed: %s", len(e.Failed), e.Of, words(e.Err))
}

func (e *RingError) Unwrap() error { return e.Err }

// ErrInvalidRing is wrapped by the RingError of a ring without queue or ID, or with braces in the queue's name.
var ErrInvalidRing = errors.New("invalid ring")

// Ring delivers all rings, at least once each, in one round trip for each 256 (and for each node of a cluster). A ring
// whose ID is still undelivered counts as delivered: it is there, whoever put it there (D2, D13: asynq's own uniqueness
// locks are never used). The error is a *RingError, or nil.
func (r *Ringer) Ring(ctx context.Context, rings ...Ring) error {
	sheet := failures{of: len(rings)}
	calls := make([]*call, 0, len(rings))
	for i, ring := range rings {
		c, err := r.encode(ctx, ring)
		if err != nil {
			sheet.add(i, err)
			continue
		}
		c.at = i
		calls = append(calls, c)
	}
	for len(calls) > 0 {
		n := min(len(calls), ringsPerPipeline)
		r.send(ctx, calls[:n], &sheet)
		calls = calls[n:]
	}
	return sheet.err()
}

func (r *Ringer) encode(ctx context.Context, ring Ring) (*call, error) {
	if ring.Queue == "" || ring.ID == "" || strings.ContainsAny(ring.Queue, "{}") {
		return nil, ErrInvalidRing
	}
	return r.encoder.encode(ctx, ring, r.options.Timeout)
}

// send delivers calls in one round trip. One call on its own is one command, which a coalescing client may join with
// those of other goroutines.
func (r *Ringer) send(ctx context.Context, calls []*call, sheet *failures) {
	stale := r.stale(calls, time.Now())
	if len(calls) == 1 && len(stale) == 0 {
		c := calls[0]
		reply := c.command(ctx)
		_ = r.rdb.Process(ctx, reply) // it has the error
		r.settle(ctx, c, reply, sheet)
		return
	}
	replies := make([]*redis.Cmd, len(calls))
	_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, c := range calls {
			replies[i] = c.command(ctx)
			_ = p.Process(ctx, replies[i]) // it only joins the pipeline
		}
		for _, queue := range stale {
			p.SAdd(ctx, allQueues, queue) // its failure hides the queue from asynq's tools and harms no delivery
		}
		return nil
	})
	for i, c := range calls {
		r.settle(ctx, c, replies[i], sheet)
	}
}

// Poster returns the script that puts one task into its queue, for one's own script to call with what Post returns: then
// nothing can come between the two. It is asynq's own.
func (r *Ringer) Poster(ctx context.Context) (script string, err error) {
	if _, err := r.encode(ctx, Ring{Queue: "any", ID: "any"}); err != nil {
		return "", err
	}
	return r.encoder.source, nil
}

// Post returns the keys and arguments of Poster's script that deliver the ring. Errors: ErrInvalidRing, and those of a
// version of asynq that does something else.
func (r *Ringer) Post(ctx context.Context, ring Ring) (keys, args []any, err error) {
	c, err := r.encode(ctx, ring)
	if err != nil {
		return nil, nil, err
	}
	return c.words[:c.keys:c.keys], c.words[c.keys:], nil
}

// Announce tells asynq's tools that the queue exists, unless that was done a moment ago. Its failure hides the queue from them
// and harms no delivery.
func (r *Ringer) Announce(ctx context.Context, queue string) {
	r.mu.Lock()
	due := r.due(queue, time.Now())
	r.mu.Unlock()
	if due {
		r.rdb.SAdd(ctx, allQueues, queue)
	}
}

// settle reads one reply; a server that does not know the script is sent its text.
func (r *Ringer) settle(ctx context.Context, c *call, reply *redis.Cmd, sheet *failures) {
	err := reply.Err()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = c.inFull(ctx, r.rdb)
		r.forget(c.queue)
	}
	if err != nil {
		sheet.add(c.at, err)
		return
	}
	if r.options.Poke != nil {
		r.options.Poke(c.queue)
	}
}

// stale returns the queues among the calls that are due to be announced, and takes them as announced.
func (r *Ringer) stale(calls []*call, now time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []string
	for _, c := range calls {
		if r.due(c.queue, now) {
			due = append(due, c.queue)
		}
	}
	return due
}

// due says whether the queue is to be announced, and takes it as announced. It is called under the lock.
func (r *Ringer) due(queue string, now time.Time) bool {
	last, ok := r.announced[queue]
	if ok && now.Sub(last) < announceEvery {
		return false
	}
	r.announced[queue] = now
	return true
}

// forget makes the next ring announce the queue again: a server without the script may have lost more.
func (r *Ringer) forget(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.announced, queue)
}

// failures collects what went wrong by position.
type failures struct {
	of     int
	failed []int
	first  error
}

func (f *failures) add(at int, err error) {
	if f.first == nil {
		f.first = err
	}
	f.failed = append(f.failed, at)
}

func (f *failures) err() error {
	if f.first == nil {
		return nil
	}
	return &RingError{Failed: f.failed, Of: f.of, Err: f.first}
}
