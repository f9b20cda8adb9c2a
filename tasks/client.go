package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// DefaultQueue is the queue of a submission that names none.
const DefaultQueue = "default"

// DefaultRetention is how long a finished run is kept.
const DefaultRetention = 24 * time.Hour

// bundleKeep is how long a bundle outlives its last use: submits renew it, and sweepers while runs are open.
const bundleKeep = 7 * 24 * time.Hour

// ClientConfig says where runs are kept. Redis is required, a *redis.Client or a *redis.ClusterClient; the caller closes it after the Client.
type ClientConfig struct {
	Redis     redis.UniversalClient
	Retention time.Duration // of finished runs; zero: DefaultRetention
}

// Client submits runs and reads results. It is safe for many goroutines.
type Client struct {
	rdb       redis.UniversalClient // a copy, on which the scripts of many goroutines share round trips
	store     *runstate.Store
	relay     *relay
	shapes    shapes
	poster    *doorbell.Ringer // whose tasks the store can post; nil: it cannot
	hints     *hints
	retention time.Duration
}

// NewClient makes a Client; it touches nothing yet.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Redis == nil {
		return nil, errors.New("tasks: ClientConfig.Redis is required")
	}
	if cfg.Retention <= 0 {
		cfg.Retention = DefaultRetention
	}
	shared, err := doorbell.NewSharedClient(cfg.Redis)
	if err != nil {
		return nil, err
	}
	c := &Client{rdb: shared, store: runstate.NewStore(shared), retention: cfg.Retention, hints: newHints(cfg.Redis)}
	ringer := doorbell.NewRinger(shared, doorbell.RingerOptions{})
	if script, err := ringer.Poster(context.Background()); err == nil { // else the roots are rung for, as all other steps
		c.store, c.poster = c.store.WithPoster(script), ringer
	}
	c.relay = &relay{c.store, ringer}
	return c, nil
}

// Close ends the Client's own connections and leaves ClientConfig.Redis open.
func (c *Client) Close() error { return errors.Join(c.hints.close(), c.rdb.Close()) }

// Submission is a run to be made. Bundle and Input are required.
type Submission struct {
	Bundle *flow.Bundle
	Input  content.Of[json.RawMessage] // one JSON value
	Queue  string                      // empty: DefaultQueue
	Key    string                      // idempotency key: one run for each flow, key and queue; empty: a new run each time
	OnDone string                      // queue for a DoneTask when the run is done; empty: none
}

// errUnkept: the queue's node lost what was said to it a moment ago, for the second time.
var errUnkept = errors.New("tasks: Redis does not keep what is written to it (does it evict, or is it being flushed?)")

// ErrInput is the error of an input that is not one JSON value.
var ErrInput = errors.New("tasks: the input is not one JSON value")

// ConflictError says that a key was used before for another bundle or input.
type ConflictError struct{ Run RunID }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("tasks: the key was used for another bundle or input, by run %s", e.Run)
}

// Submit makes the run, or finds the one that Key already made of the same bundle and input. When it returns nil the run
// is durable, as far as Redis is. Errors: ErrInput, ErrQueueName, *ConflictError, those of Redis; after one of Redis the
// run may have been made, and to submit again with the same Key is safe. The run belongs to the trace of ctx's
// OpenTelemetry span, if it has one. When ctx ends before, the input may still be read: leave its bytes as they are.
func (c *Client) Submit(ctx context.Context, s Submission) (RunID, error) {
	run, _, err := c.SubmitOnce(ctx, s)
	return run, err
}

// SubmitOnce is Submit, and says whether this call made the run: made is false when Key had made it before, also by a call
// that got no answer.
func (c *Client) SubmitOnce(ctx context.Context, s Submission) (run RunID, made bool, err error) {
	run, n, err := c.newRun(s)
	if err != nil {
		return RunID{}, false, err
	}
	n.Trace = traceparent(ctx)
	posts := c.posts(ctx, s.Bundle, run, n)
	change, err := c.store.Create(ctx, n, posts)
	if err == nil && change.Word == runstate.Unkept {
		if err = c.store.KeepBundle(ctx, n.Queue, n.Shape.BundleSHA, bundleKeep, s.Bundle.Encode); err == nil {
			change, err = c.store.Create(ctx, n, posts)
		}
	}
	if err != nil {
		return RunID{}, false, err
	}
	switch change.Word {
	case runstate.Conflict:
		return RunID{}, false, &ConflictError{run}
	case runstate.Unkept:
		return RunID{}, false, errUnkept
	default: // created, or there
	}
	made = change.Word == runstate.Created
	// The run is there. What could not be posted with it is rung for now; if its producer dies here, or Redis fails, the sweeper
	// rings.
	if err := c.relay.change(ctx, run, s.Bundle.SHA(), change); err != nil && ctx.Err() != nil {
		return run, made, ctx.Err()
	}
	return run, made, nil
}

func (c *Client) newRun(s Submission) (RunID, runstate.NewRun, error) {
	input := s.Input.Reveal()
	if s.Bundle == nil {
		return RunID{}, runstate.NewRun{}, errors.New("tasks: Submission.Bundle is required")
	}
	if !json.Valid(input) {
		return RunID{}, runstate.NewRun{}, ErrInput
	}
	if s.Queue == "" {
		s.Queue = DefaultQueue
	}
	if !queueName.MatchString(s.Queue) || s.OnDone != "" && !queueName.MatchString(s.OnDone) {
		return RunID{}, runstate.NewRun{}, ErrQueueName
	}
	f := s.Bundle.Flow()
	run := newRunID(s.Queue, f.Name, s.Key)
	hash := "" // without a key nobody can submit the same run with another input
	if s.Key != "" {
		sum := sha256.Sum256(input)
		hash = base64.RawURLEncoding.EncodeToString(sum[:12])
	}
	return run, runstate.NewRun{
		Ref: run.ref(), InputHash: hash, Shape: c.shapes.of(s.Bundle),
		Window: f.Deadline, Retention: c.retention, FailFast: f.FailFast, OnDone: s.OnDone, Input: input,
	}, nil
}

// mostPosted is how many tasks one script puts into a queue: Redis serves nobody else meanwhile.
const mostPosted = 64

// posts are the tasks of the run's roots, or nil, if the store must leave them to the relay.
func (c *Client) posts(ctx context.Context, b *flow.Bundle, run RunID, n runstate.NewRun) []runstate.Post {
	roots := n.Shape.Roots
	if c.poster == nil || len(roots) > mostPosted {
		return nil
	}
	c.poster.Announce(ctx, run.Queue())
	headers := traceHeaders(ctx, "")
	posts := make([]runstate.Post, len(roots))
	for i, root := range roots {
		var err error
		p := payload{Run: run, SHA: b.SHA(), Generation: 1, Unit: runstate.Step(root)}
		if posts[i].Keys, posts[i].Args, err = c.poster.Post(ctx, p.ring(headers)); err != nil {
			return nil
		}
	}
	return posts
}

// Cancel ends every open step of the run as FAILED, canceled: calls in flight are cut, nothing further is spent. finished
// says that the run had ended before; it is then left as it is. Errors: ErrNotFound, those of Redis.
func (c *Client) Cancel(ctx context.Context, run RunID) (finished bool, err error) {
	change, err := c.store.Cancel(ctx, run.ref())
	if err != nil {
		return false, err
	}
	if change.Word == runstate.Gone {
		return false, ErrNotFound
	}
	if change.Word == runstate.Finished {
		return true, nil
	}
	return false, c.relayAll(ctx, run, change)
}

// Errors of Rerun.
var (
	ErrNotFound       = errors.New("tasks: no such run (it never was, or its retention has passed)")
	ErrStillOpen      = errors.New("tasks: the run is still open")
	ErrNothingToRerun = errors.New("tasks: every step of the run has a value")
)

// Rerun starts a new generation of a finished run: failed, skipped and cancelled steps, and all that depend on them, run
// again; what has a value stays and is not paid for again. Errors: ErrNotFound, ErrStillOpen, ErrNothingToRerun, those of
// Redis.
func (c *Client) Rerun(ctx context.Context, run RunID) error {
	change, err := c.store.Rerun(ctx, run.ref())
	if err != nil {
		return err
	}
	switch change.Word {
	case runstate.Gone:
		return ErrNotFound
	case runstate.Open:
		return ErrStillOpen
	case runstate.Nothing:
		return ErrNothingToRerun
	default: // runs again
	}
	return c.relayAll(ctx, run, change)
}

// relayAll rings for a change to a run whose bundle is not at hand.
func (c *Client) relayAll(ctx context.Context, run RunID, change runstate.Change) error {
	entries := make([]runstate.Entry, len(change.Ready))
	for i, r := range change.Ready {
		entries[i] = change.Entry(run.ref(), r)
	}
	return c.relay.entries(ctx, entries, inTurn)
}
