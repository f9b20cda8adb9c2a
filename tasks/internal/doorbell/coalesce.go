package doorbell

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lanes is how many round trips a coalescing client has under way to one Redis node.
	lanes = 2
	// scriptsPerFlight bounds a pipeline: Redis serves other clients between them.
	scriptsPerFlight = 16
	// Where more than crowd wait, how long the first of a flight waits for its last matters less than what a trip costs.
	crowd          = 256
	crowdPerFlight = 64
	// patientFor is how long a command that nobody waits for waits for others to fly with.
	patientFor = 5 * time.Millisecond
)

// Coalesce makes EVALSHA commands of many goroutines share round trips, and returns the client. While a lane is free, a
// command flies at once and alone, exactly as without; those that arrive meanwhile fly together when it lands. Answers
// and errors are each command's own, NOSCRIPT included; a caller whose context ends leaves the others be, and must not
// change its arguments, which may still be read. On a cluster each node has lanes of its own.
//
// The client must be a *redis.Client or a *redis.ClusterClient, and must not have been used; it is changed, not copied.
func Coalesce(rdb redis.UniversalClient) (redis.UniversalClient, error) {
	switch client := rdb.(type) {
	case *redis.Client:
		client.AddHook(&coalescer{client: client})
	case *redis.ClusterClient:
		client.OnNewNode(func(node *redis.Client) { node.AddHook(&coalescer{client: node, ofCluster: true}) })
	default:
		return nil, ErrClient
	}
	return rdb, nil
}

// NewScriptClient returns a coalescing copy of rdb for scripts that may run twice: it has connections of its own, tries
// again for some ten seconds while Redis is out of reach, and gives up on an answer after one second. The caller closes it.
// Errors: ErrClient.
func NewScriptClient(rdb redis.UniversalClient) (redis.UniversalClient, error) {
	own, err := clone(rdb, steady)
	if err != nil {
		return nil, err
	}
	return Coalesce(own)
}

// NewSharedClient returns a coalescing copy of rdb with its settings and connections of its own. The caller closes it.
// Errors: ErrClient.
func NewSharedClient(rdb redis.UniversalClient) (redis.UniversalClient, error) {
	own, err := clone(rdb, tuning{})
	if err != nil {
		return nil, err
	}
	return Coalesce(own)
}

// patiently marks the context of a command that may wait a moment for others to share a round trip with.
func patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

type patientKey struct{}

// coalescer is the hook of one client of one node.
type coalescer struct {
	client    *redis.Client
	ofCluster bool

	mu      sync.Mutex
	flying  int // lanes taken, at most lanes
	waiting []*passenger
	hurried bool // somebody waits who is not patient, or no longer: else a lane stays free for company that is worth a trip
}

// passenger is a command that waits for a lane or flies with others. It is a copy: its caller may have left.
type passenger struct {
	cmd    *redis.Cmd
	landed chan struct{}
}

func newPassenger(cmd redis.Cmder) *passenger {
	return &passenger{cmd: redis.NewCmd(context.Background(), cmd.Args()...), landed: make(chan struct{})}
}

// answer waits for the passenger to land, and gives the caller's own command what it brings.
func (p *passenger) answer(ctx context.Context, own redis.Cmder) error {
	select {
	case <-p.landed:
		if reply, ok := own.(*redis.Cmd); ok {
			reply.SetVal(p.cmd.Val())
		}
		return p.cmd.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *coalescer) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook lets short pipelines of scripts fly with the others: pipelines of many goroutines would each take a
// connection, and all but a few be closed again at once. A cluster's are left alone, since its client follows redirections
// within them.
func (c *coalescer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if c.ofCluster || ctx.Value(flightKey{}) != nil || ctx.Err() != nil || len(cmds) > scriptsPerFlight || !allScripts(cmds) {
			return next(ctx, cmds)
		}
		var first error
		for i, p := range c.boardTogether(cmds) {
			err := p.answer(ctx, cmds[i])
			cmds[i].SetErr(err) // go-redis does so for single commands only
			first = cmp.Or(first, err)
		}
		return first
	}
}

func allScripts(cmds []redis.Cmder) bool {
	for _, cmd := range cmds {
		if _, ok := cmd.(*redis.Cmd); !ok || cmd.Name() != "evalsha" {
			return false
		}
	}
	return true
}

func (c *coalescer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		reply, ok := cmd.(*redis.Cmd)
		if !ok || cmd.Name() != "evalsha" || ctx.Err() != nil {
			return next(ctx, cmd)
		}
		p, batch := c.board(cmd, ctx.Value(patientKey{}) != nil)
		if p == nil {
			defer c.land()
			return next(ctx, cmd)
		}
		if len(batch) > 0 {
			go c.fly(batch)
		}
		return p.answer(ctx, reply)
	}
}

// board finds the command a place. Without a passenger it flies alone, and has a lane. With a batch of those who have waited
// longest, itself if they are few, the batch has one. Else it waits.
func (c *coalescer) board(cmd redis.Cmder, patient bool) (p *passenger, batch []*passenger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := c.flying < lanes
	if free && !patient && len(c.waiting) == 0 {
		c.flying++
		return nil, nil
	}
	p = newPassenger(cmd)
	c.waiting = append(c.waiting, p)
	switch {
	case patient:
		time.AfterFunc(patientFor, c.depart)
	case !free:
		c.hurried = true
	default:
		c.flying++
		c.hurried = true
		batch = c.next()
	}
	return p, batch
}

// boardTogether finds places for commands that fly as soon as they can, not necessarily in one flight.
func (c *coalescer) boardTogether(cmds []redis.Cmder) []*passenger {
	c.mu.Lock()
	defer c.mu.Unlock()
	party := make([]*passenger, len(cmds))
	for i, cmd := range cmds {
		party[i] = newPassenger(cmd)
	}
	c.waiting = append(c.waiting, party...)
	c.hurried = true
	if c.flying < lanes {
		c.flying++
		go c.fly(c.next())
	}
	return party
}

// depart ends the patience of those who have waited for company.
func (c *coalescer) depart() {
	c.mu.Lock()
	var batch []*passenger
	c.hurried = len(c.waiting) > 0
	if c.hurried && c.flying < lanes {
		c.flying++
		batch = c.next()
	}
	c.mu.Unlock()
	if len(batch) > 0 {
		c.fly(batch)
	}
}

// land hands the lane to those who wait, or frees it.
func (c *coalescer) land() {
	if batch := c.nextFlight(); len(batch) > 0 {
		go c.fly(batch)
	}
}

// nextFlight returns who flies next, and frees the lane when that is nobody.
func (c *coalescer) nextFlight() []*passenger {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hurried {
		c.flying--
		return nil
	}
	return c.next()
}

// next takes a batch off those who wait. It is called under the lock.
func (c *coalescer) next() []*passenger {
	n := min(len(c.waiting), scriptsPerFlight)
	if len(c.waiting) > crowd {
		n = crowdPerFlight
	}
	batch := c.waiting[:n:n]
	if c.waiting = c.waiting[n:]; len(c.waiting) == 0 {
		c.waiting, c.hurried = nil, false // so that the array does not keep who has left
	}
	return batch
}

// flight is the context of a flight, by which it is known to be one.
var flight = context.WithValue(context.Background(), flightKey{}, true)

type flightKey struct{}

// fly carries batches until nobody waits. It belongs to no caller, so that nobody's context ends it; the client's own
// time limits do.
func (c *coalescer) fly(batch []*passenger) {
	for ; len(batch) > 0; batch = c.nextFlight() {
		pipe := c.client.Pipeline()
		for _, p := range batch {
			_ = pipe.Process(context.Background(), p.cmd) // it only joins the pipeline
		}
		_, _ = pipe.Exec(flight) // each command has its own error
		for _, p := range batch {
			close(p.landed)
		}
	}
}
