package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/handlers"
	"fourfold/cmd/internal/version"
	"fourfold/tasks"
	"fourfold/telemetry"
	"fourfold/telemetry/traces"
)

// settings are the flags that say what a worker is.
type settings struct {
	Config string `placeholder:"FILE" type:"path" help:"The configuration, worker.yaml."`
	config.Overrides
	Grace time.Duration `placeholder:"DURATION" help:"How long the platform waits between SIGTERM and SIGKILL; compared with drain."`
}

// load reads the file and lays flags and environment over it.
func (s *settings) load() (*config.File, error) {
	if s.Grace < 0 {
		return nil, cli.Usagef("--grace must not be negative")
	}
	f, err := config.Load(s.Config)
	if err != nil {
		return nil, err
	}
	return f, f.Finish(s.Overrides, os.LookupEnv)
}

type runCommand struct {
	settings
	PrintConfig bool `help:"Print the configuration that is in force, without secrets, and end."`
}

// Help is what --help adds.
func (runCommand) Help() string {
	return "Without a configuration file one provider comes from the environment: OPENAI_API_KEY, and OPENAI_BASE_URL or --base-url for another server. SIGTERM and SIGINT: nothing new is taken, calls in flight may end within --drain, the rest goes back to the queue; a second signal ends the drain at once."
}

func (c *runCommand) Run(ctx context.Context, streams cli.Streams) error {
	file, err := c.load()
	if err != nil {
		return err
	}
	if c.PrintConfig {
		text, err := file.Redacted()
		if err != nil {
			return err
		}
		_, err = streams.Out.Write(text)
		return err
	}
	if len(file.Chains) == 0 {
		return errors.New("no providers: name some in worker.yaml, or set OPENAI_API_KEY; `worker demo` needs neither")
	}
	ctx, again, release := signals(ctx)
	defer release()
	return work(ctx, again, file, c.Grace, streams)
}

// signals returns a context that ends at the first SIGTERM or SIGINT and a channel that is closed at the second.
// A third one ends the process.
func signals(parent context.Context) (ctx context.Context, again <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancel(parent)
	second := make(chan struct{})
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(got)
		for _, then := range []func(){cancel, func() { close(second) }} {
			select {
			case <-got:
				then()
			case <-done:
				return
			}
		}
	}()
	return ctx, second, func() { close(done); cancel() }
}

// work is a worker's whole life. It returns when the drain is over and everything that was told is sent.
func work(ctx context.Context, again <-chan struct{}, file *config.File, grace time.Duration, streams cli.Streams) error {
	log, err := telemetry.NewLogger(streams.Err, file.Log.Level, file.Log.Format)
	if err != nil {
		return err
	}
	defer log.Close()
	redis.SetLogger(telemetry.NewRedisLog(log))
	limitMemory(log)
	sink, err := telemetry.New(telemetry.Config{Statsd: *file.Statsd.Addr, Log: log})
	if err != nil {
		return fmt.Errorf("statsd.addr: %w", err)
	}
	defer sink.Close()
	tracing, err := openTraces(ctx, file, log)
	if err != nil {
		return err
	}
	defer tracing.Close()
	rdb, err := file.Redis.Client(config.ForWorker, file.Concurrency, os.LookupEnv)
	if err != nil {
		return err
	}
	defer rdb.Close()
	worker, err := build(file, rdb, tracing, tracing.Observe(sink), log)
	if err != nil {
		return err
	}
	var begun atomic.Bool
	health := telemetry.NewHealth(func(probe context.Context) error {
		switch {
		case ctx.Err() != nil:
			return telemetry.ErrDraining
		case !begun.Load():
			return errors.New("not begun")
		}
		return worker.Ready(probe)
	})
	if stop := serveHealth(ctx, *file.HealthAddr, health, log); stop != nil {
		defer stop()
	}
	log.Info("worker starts", "version", version.String(), "queues", len(file.Queues), "concurrency", file.Concurrency, "drain", file.Drain.Std())
	logFindings(log, checkTimes(file, grace, nil))
	if !awaitRedis(ctx, rdb, log) {
		return nil
	}
	looking, cancel := context.WithTimeout(ctx, 10*time.Second)
	logFindings(log, checkRedis(looking, rdb, file.Redis.Place(), len(file.FleetLimits()) > 0))
	cancel()
	begun.Store(true)
	return runUntil(ctx, again, worker, log)
}

// runUntil works, and cuts the drain short when a second signal comes.
func runUntil(ctx context.Context, again <-chan struct{}, worker *tasks.Worker, log *telemetry.Logger) error {
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		select {
		case <-again:
			log.Warn("second signal: the drain ends now")
			worker.Stop()
		case <-ended:
		}
	}()
	return worker.Run(ctx)
}

// build wires the worker's parts.
func build(file *config.File, rdb redis.UniversalClient, tracing *traces.Provider, observer telemetry.Observer, log *telemetry.Logger) (*tasks.Worker, error) {
	clients, err := file.BuildProviders(config.Surroundings{
		Env: os.LookupEnv, Gate: tasks.NewGate(rdb, file.FleetLimits()), Observer: observer,
	})
	if err != nil {
		return nil, err
	}
	return tasks.NewWorker(tasks.WorkerConfig{
		Redis:         rdb,
		Queues:        file.Queues,
		Concurrency:   file.Concurrency,
		Drain:         file.Drain.Std(),
		Chains:        file.BuildChains(clients, observer),
		Handlers:      handlers.Stock(),
		Observer:      observer,
		Logger:        log,
		Tracer:        tracing.Tracer(),
		Retention:     file.Retention.Std(),
		Lease:         file.Lease.Std(),
		MaxDeliveries: file.MaxDeliveries,
		MaxWait:       file.MaxWait.Std(),
	})
}

// serveHealth serves the probes, or says why not and goes on: a worker without probes works, and a platform that needs
// them notices by itself.
func serveHealth(ctx context.Context, addr string, h *telemetry.Health, log *telemetry.Logger) (stop func()) {
	if addr == "" {
		return nil
	}
	server, err := telemetry.ServeHealth(ctx, addr, h)
	switch {
	case errors.Is(err, syscall.EADDRINUSE): // a second worker on the same machine, as a rule
		log.Warn("health endpoints are not served: the address is taken; set --health-addr or health_addr", "addr", addr)
		return nil
	case err != nil:
		log.Error("health endpoints are not served: the address cannot be listened on", "addr", addr, "error", err)
		return nil
	}
	log.Info("health endpoints are served", "addr", server.Addr())
	return server.Close
}

// awaitRedis returns when Redis answers, or false when the context ends before.
func awaitRedis(ctx context.Context, rdb redis.UniversalClient, log *telemetry.Logger) bool {
	pause := 200 * time.Millisecond
	var said time.Time
	for {
		reach, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := rdb.Ping(reach).Err()
		cancel()
		if err == nil {
			return true
		}
		if ctx.Err() == nil && time.Since(said) > 30*time.Second {
			log.Error("Redis does not answer; the worker waits for it", "error", err)
			said = time.Now()
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Second)
		case <-ctx.Done():
			return false
		}
	}
}
