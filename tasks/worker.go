package tasks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"fourfold/provider"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
	"fourfold/telemetry"
)

// WorkerConfig says what a worker serves. Redis and Queues are required; Chains and Handlers must hold what the flows name.
type WorkerConfig struct {
	Redis       redis.UniversalClient // stays the caller's to close, after Run
	Queues      map[string]int        // name: weight, at least 1
	Concurrency int                   // steps at a time; zero: 100
	Drain       time.Duration         // how long a stopping worker waits for calls in flight; zero: 25s
	Chains      map[string]*provider.Chain
	Handlers    map[string]Handler
	Observer    telemetry.Observer // nil: nobody is told
	Logger      Logger             // nil: silent
	Tracer      trace.Tracer       // for a span of each delivery of a step; nil: none
	Retention   time.Duration      // age at which the dead-letter index forgets; zero: DefaultRetention
	Lease       time.Duration      // of a claim, renewed at a third of it; zero: 12s
	// MaxDeliveries of one step, after which it is FAILED crash; zero: 5. Before it comes to that a step is worked on beside ever
	// fewer others that were lost with their workers, and the last time alone; with fewer than three this begins when a worker
	// has died once, and recovery is slow.
	MaxDeliveries int
	MaxWait       time.Duration // longest time a step may be parked, where the flow names none; zero: 15m
}

// Logger takes fixed, content-free texts with key-value pairs of identifiers and numbers.
type Logger interface {
	Debug(msg string, kv ...any)
	Info(msg string, kv ...any)
	Warn(msg string, kv ...any)
	Error(msg string, kv ...any)
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

func (c *WorkerConfig) fill() error {
	if c.Redis == nil {
		return errors.New("tasks: WorkerConfig.Redis is required")
	}
	if len(c.Queues) == 0 {
		return errors.New("tasks: WorkerConfig.Queues is required")
	}
	for name, weight := range c.Queues {
		if !queueName.MatchString(name) {
			return ErrQueueName
		}
		if weight < 1 {
			return errors.New("tasks: a queue's weight must be at least 1")
		}
	}
	c.Concurrency = or(c.Concurrency, 100)
	c.Drain = or(c.Drain, 25*time.Second)
	c.Retention = or(c.Retention, DefaultRetention)
	c.Lease = or(c.Lease, 12*time.Second)
	c.MaxDeliveries = or(c.MaxDeliveries, 5)
	c.MaxWait = or(c.MaxWait, 15*time.Minute)
	if c.Observer == nil {
		c.Observer = telemetry.Discard
	}
	if c.Logger == nil {
		c.Logger = silent{}
	}
	return nil
}

func or[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Worker takes steps from the queues and runs them. Make it with NewWorker; Run it once.
type Worker struct {
	cfg      WorkerConfig
	scripts  redis.UniversalClient // a copy of cfg.Redis, on which the scripts of many goroutines share round trips
	store    *runstate.Store
	server   *doorbell.Server
	relay    *relay
	bundles  *bundles
	claims   *claims
	suspects *isolation
	strays   *strays
	sweeper  *sweeper

	bindings bindings

	draining atomic.Bool
	parked   atomic.Int64
	stop     context.CancelFunc // ends the drain
	stopped  context.Context    //nolint:containedctx // ends with Stop, which has no caller to hand it to
	running  sync.Mutex
}

// NewWorker checks the configuration; it touches nothing yet.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	scripts, err := doorbell.NewScriptClient(cfg.Redis)
	if err != nil {
		return nil, err
	}
	w := newWorker(cfg, scripts)
	server, err := doorbell.NewServer(doorbell.ServerConfig{
		Redis: cfg.Redis, Queues: cfg.Queues, Handler: w.handle, Concurrency: cfg.Concurrency, Drain: cfg.Drain, Logger: cfg.Logger,
		Scripts: scripts,
		AtTake: &doorbell.AtTake{
			Script: runstate.MeetScript(), Args: func() []any { return runstate.MeetArgs(newToken(), cfg.Lease) },
		},
		OnRejected: func(d doorbell.Delivery, reason doorbell.Reason) {
			w.cfg.Logger.Error("task rejected and archived", "queue", d.Queue, "reason", strings.ReplaceAll(string(reason), " ", "-")) // spelt as the log takes it
		},
	})
	if err != nil {
		return nil, errors.Join(err, scripts.Close())
	}
	w.server = server
	w.relay = &relay{w.store, doorbell.NewRinger(scripts, doorbell.RingerOptions{Poke: server.Poke})}
	return w, nil
}

// newWorker makes a worker that has no doorbell yet, and keeps run state through scripts. cfg has been filled.
func newWorker(cfg WorkerConfig, scripts redis.UniversalClient) *Worker {
	w := &Worker{cfg: cfg, scripts: scripts, store: runstate.NewStore(scripts)}
	w.stopped, w.stop = context.WithCancel(context.Background())
	w.bundles = newBundles(w.store)
	w.strays = newStrays()
	w.claims = newClaims(w.store, cfg.Lease, cfg.Logger)
	w.suspects = newIsolation(cfg.Concurrency, cfg.MaxDeliveries)
	w.sweeper = newSweeper(w)
	return w
}

// Run works until ctx ends, then drains: nothing new is taken, calls in flight may end within Drain, what has not ended
// goes back to the queue with what it has spent. It returns nil after an orderly drain, however much was given back.
func (w *Worker) Run(ctx context.Context) error {
	if !w.running.TryLock() {
		return errors.New("tasks: a Worker runs once")
	}
	if err := w.store.Load(ctx); err != nil { // scripts are sent with their first calls otherwise
		w.cfg.Logger.Warn("scripts could not be loaded yet")
	}
	w.cfg.Logger.Info("worker started", "concurrency", w.cfg.Concurrency, "queues", len(w.cfg.Queues))
	if err := w.server.Start(); err != nil {
		return err
	}
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	helpers.Go(func() { w.claims.beat(background) })
	helpers.Go(func() { w.claims.listen(background, w.cfg.Redis) })
	helpers.Go(func() { w.sweeper.run(background) })
	helpers.Go(func() { w.report(background) })

	<-ctx.Done()
	w.draining.Store(true)
	w.cfg.Logger.Info("worker draining", "busy", w.server.Running(), "drain", w.cfg.Drain)
	result := w.server.Shutdown(w.stopped)
	end()
	helpers.Wait()
	defer func() { _ = w.scripts.Close() }()
	w.cfg.Observer.Drained(result.Finished, result.Requeued, result.Abandoned)
	w.cfg.Logger.Info("worker stopped", "finished", result.Finished, "requeued", result.Requeued, "cut", result.Abandoned)
	return nil
}

// Stop ends the drain at once: what has not ended goes back to the queue now. It is for the second signal.
func (w *Worker) Stop() { w.stop() }

// ErrDraining is why a worker that is stopping is not ready.
var ErrDraining = errors.New("tasks: the worker is draining")

// Ready says whether Redis answers and the worker is not draining. Errors: ErrDraining, those of Redis.
func (w *Worker) Ready(ctx context.Context) error {
	if w.draining.Load() {
		return ErrDraining
	}
	return w.cfg.Redis.Ping(ctx).Err()
}

func (w *Worker) queues() []string { return slices.Sorted(maps.Keys(w.cfg.Queues)) }
