// Package tasks runs flows on a Redis queue.
package tasks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/telemetry"
)

// RunID is <queue>.<26 characters>.
type RunID struct{ queue, id string }

func ParseRunID(s string) (RunID, error) { panic("unbuilt") }
func (r RunID) String() string           { return r.queue + "." + r.id }
func (r RunID) Queue() string            { return r.queue }

// Client submits runs and reads results. It is safe for many goroutines.
type Client struct{}

// ClientConfig: Redis is required; the caller closes it.
type ClientConfig struct {
	Redis     redis.UniversalClient
	Retention time.Duration // of finished runs; zero: 24h
}

func NewClient(cfg ClientConfig) (*Client, error) { panic("unbuilt") }
func (c *Client) Close() error                    { panic("unbuilt") }

// Submission is a run to be made.
type Submission struct {
	Bundle *flow.Bundle
	Input  content.Of[json.RawMessage] // one JSON value
	Queue  string                      // empty: default
	Key    string                      // idempotency key; empty: a new run each time
	OnDone string                      // queue for a task with the status reference; empty: none
}

// Submit makes the run, or finds the one that Key already made. Errors: *ConflictError (same key, other input or bundle), Redis errors.
func (c *Client) Submit(ctx context.Context, s Submission) (RunID, error) { panic("unbuilt") }

// Values says whose values a Status holds.
type Values uint8

// Whose values.
const (
	SinkValues Values = iota
	AllValues
	NoValues
)

// Status reads the status document. Errors: ErrNotFound.
func (c *Client) Status(ctx context.Context, run RunID, v Values) (Status, error) { panic("unbuilt") }

// Wait returns the status when the run is done or the context ends.
func (c *Client) Wait(ctx context.Context, run RunID, v Values) (Status, error) { panic("unbuilt") }

// Watch calls f with a status (without values) whenever it has changed, until the run is done.
func (c *Client) Watch(ctx context.Context, run RunID, f func(Status)) error { panic("unbuilt") }

// Cancel ends every open step of the run; finished reports whether the run was done already.
func (c *Client) Cancel(ctx context.Context, run RunID) (finished bool, err error) { panic("unbuilt") }

// Rerun starts a new generation: what has a value stays. Errors: ErrNotFound, ErrStillOpen, ErrNothingToRerun.
func (c *Client) Rerun(ctx context.Context, run RunID) error { panic("unbuilt") }

// FailedFilter picks failed runs from the dead-letter index of a queue.
type FailedFilter struct {
	Queue string
	Cause string        // failure class or other cause; empty: any
	Since time.Duration // finished within; zero: any time
}

func (c *Client) Failed(ctx context.Context, f FailedFilter) ([]RunID, error) { panic("unbuilt") }

// ListFilter picks runs.
type ListFilter struct {
	Queue   string
	Outcome executor.Outcome // none: any
	Open    bool
	Stuck   bool // open and overdue for the sweeper
	Limit   int
}

func (c *Client) List(ctx context.Context, f ListFilter) ([]Status, error) { panic("unbuilt") } // without values
func (c *Client) Queues(ctx context.Context) ([]QueueStatus, error)        { panic("unbuilt") }

// QueueStatus is one line of `enqueue queues`.
type QueueStatus struct {
	Queue           string `json:"queue"`
	Pending         int64  `json:"pending"`
	Active          int64  `json:"active"`
	Scheduled       int64  `json:"scheduled"`
	Retry           int64  `json:"retry"`
	Archived        int64  `json:"archived"`
	Outbox          int64  `json:"outbox"`
	OpenRuns        int64  `json:"open_runs"`
	FailedRuns      int64  `json:"failed_runs"`
	OldestPendingMS int64  `json:"oldest_pending_ms"`
	Paused          bool   `json:"paused"`
}

// Marker is the worst outcome so far with its first cause.
type Marker struct {
	Outcome executor.Outcome `json:"outcome"`
	Step    executor.StepID  `json:"step,omitzero"`
	Cause   Cause            `json:"cause,omitzero"`
}

// Cause is a failure class, or canceled, deadline, dependency, crash, rejected.
type Cause uint8

func (c Cause) String() string { panic("unbuilt") }

// Counts are steps by outcome; skipped steps are counted apart from failed ones.
type Counts struct {
	OK        int `json:"ok"`
	Degraded  int `json:"degraded"`
	Abstained int `json:"abstained"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
}

// StepStatus is one finished step; an open one has State instead of an outcome.
type StepStatus struct {
	executor.Envelope
	State     string // waiting, queued, running, done
	Skipped   bool
	Cause     Cause
	Provider  provider.Name
	ErrorKind provider.Kind
	Reason    provider.Reason
	Marker    Marker
}

// Status is the status document.
type Status struct {
	Run       RunID
	Flow      string
	BundleSHA flow.SHA
	State     string // open, done
	Outcome   executor.Outcome
	Marker    *Marker
	Counts    Counts
	Steps     []StepStatus
	Values    map[executor.StepID]content.Of[json.RawMessage]
	Created   time.Time
	Finished  time.Time
}

// JSON is the public document of design, content included: the one encoder of a Status. (MarshalJSON would leak by accident.)
func (s Status) JSON() ([]byte, error) { panic("unbuilt") }

// Handler is a Go function that serves `handler:` steps. Its errors are classified by executor.Classify.
type Handler func(ctx context.Context, in flow.Inputs) (executor.Reply[json.RawMessage], error)

// WorkerConfig: Redis, Queues and Chains are required.
type WorkerConfig struct {
	Redis         redis.UniversalClient
	Queues        map[string]int // name: weight
	Concurrency   int            // zero: 100
	Drain         time.Duration  // zero: 25s
	Chains        map[string]*provider.Chain
	Handlers      map[string]Handler
	Observer      telemetry.Observer // nil: nobody is told
	Logger        Logger             // nil: silent
	Retention     time.Duration      // of finished runs; zero: 24h
	Lease         time.Duration      // of a claim; zero: 12s
	MaxDeliveries int                // then FAILED crash; zero: 5
	MaxWait       time.Duration      // longest time a step may be parked; zero: 15m
}

// Logger takes fixed, content-free texts with key-value pairs of identifiers and numbers.
type Logger interface {
	Debug(msg string, kv ...any)
	Info(msg string, kv ...any)
	Warn(msg string, kv ...any)
	Error(msg string, kv ...any)
}

// Worker takes steps from the queues and runs them.
type Worker struct{}

func NewWorker(cfg WorkerConfig) (*Worker, error) { panic("unbuilt") }

// Run works until ctx ends, then drains: nothing new is taken, calls in flight may end within Drain, the rest goes back to the queue.
func (w *Worker) Run(ctx context.Context) error { panic("unbuilt") }

// Stop ends the drain at once (the second signal).
func (w *Worker) Stop() { panic("unbuilt") }

// Ready says whether Redis answers and the worker is not draining.
func (w *Worker) Ready(ctx context.Context) error { panic("unbuilt") }

// Gate returns the fleet-wide limiter for the given per-provider limits.
type Limit struct{ InFlight, PerMinute int }

func NewGate(rdb redis.UniversalClient, limits map[provider.Name]Limit) provider.Gate {
	panic("unbuilt")
}
