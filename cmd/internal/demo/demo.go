package demo

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/handlers"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/tasks"
	"fourfold/telemetry"
)

// Options say what is shown and how. The zero value shows the simulation to people.
type Options struct {
	Streams cli.Streams
	Config  *config.File // whose providers are asked, finished; nil: the demo's own, which are simulated
	JSON    bool         // one document on standard output
	Metrics bool         // every line of DogStatsD, not one of each
}

const (
	queue       = "demo"
	concurrency = 6
	// window is how many documents are under way at once: so many that no slot is idle, so few that the first is soon done.
	window = 5
	// patience bounds the whole demo; a simulated one is over long before, real providers may be slow.
	patience = 10 * time.Minute
)

// Run runs the demo. An error means that it could not be run: documents that fail are part of it.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	bundle, docs, err := samples()
	if err != nil {
		return err
	}
	if o.Config == nil {
		docs = tell(docs)
	}
	memory, err := startRedis()
	if err != nil {
		return err
	}
	defer memory.close()
	metrics, err := listen(ctx)
	if err != nil {
		return err
	}
	f := &fleet{options: o, rdb: memory.client(), bundle: bundle, documents: docs, tally: newTally()}
	defer f.rdb.Close()
	runs, err := f.process(ctx, metrics)
	if err != nil {
		return err
	}
	return report{options: o, simulated: f.asked().real == nil, runs: runs, tally: f.tally, lines: metrics.all(ctx), took: f.took}.write()
}

// fleet is a fleet of one worker, and its producer.
type fleet struct {
	options   Options
	rdb       redis.UniversalClient
	bundle    *flow.Bundle
	documents []document
	tally     *tally
	took      time.Duration
}

// process starts a worker, submits every document, and returns the finished runs in the order of the documents.
func (f *fleet) process(ctx context.Context, metrics *receiver) ([]run, error) {
	sink, err := telemetry.New(telemetry.Config{Statsd: metrics.addr()})
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	observer := telemetry.Multi(sink, f.tally)
	chains, err := f.chains(observer)
	if err != nil {
		return nil, err
	}
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: f.rdb})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // Redis goes with the demo
	worker, err := tasks.NewWorker(tasks.WorkerConfig{
		Redis: f.rdb, Queues: map[string]int{queue: 1}, Concurrency: concurrency, Drain: time.Second,
		Chains: chains, Handlers: handlers.Stock(), Observer: observer,
	})
	if err != nil {
		return nil, err
	}
	f.say()
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(working) }()
	begin := time.Now()
	runs, err := f.produce(ctx, client)
	f.took = time.Since(begin)
	stop()
	return runs, errors.Join(err, <-ended)
}

// chains are those of the configuration, or the simulated one.
func (f *fleet) chains(observer telemetry.Observer) (map[string]*provider.Chain, error) {
	file := f.options.Config
	if file == nil {
		return map[string]*provider.Chain{config.DefaultChain: simulatedChain(observer)}, nil
	}
	clients, err := file.BuildProviders(config.Surroundings{
		Env: os.LookupEnv, Gate: tasks.NewGate(f.rdb, file.FleetLimits()), Observer: observer,
	})
	if err != nil {
		return nil, err
	}
	chains := file.BuildChains(clients, observer)
	if err := f.bundle.Flow().Check(flow.Offer{Chains: chains, Handlers: map[string]bool{"assemble": true}}); err != nil {
		return nil, err
	}
	return chains, nil
}

// run is a document's run when it is done.
type run struct {
	document document
	status   tasks.Status
}

// produce submits every document and waits for its run, as a service would.
func (f *fleet) produce(ctx context.Context, client *tasks.Client) ([]run, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runs := make([]run, len(f.documents))
	live := newProgress(f.options, len(f.documents))
	defer live.close()
	var waiting sync.WaitGroup
	room := make(chan struct{}, window)
	for i, d := range f.documents {
		room <- struct{}{} // every holder gives it back: waiting ends with the context
		id, err := client.Submit(ctx, tasks.Submission{Bundle: f.bundle, Input: d.input, Queue: queue, Key: d.id})
		if err != nil {
			cancel(err)
			break
		}
		waiting.Go(func() {
			defer func() { <-room }()
			st, err := client.Wait(ctx, id, tasks.NoValues)
			if err != nil {
				cancel(err)
				return
			}
			runs[i] = run{d, st}
			live.finished(runs[i])
		})
	}
	waiting.Wait()
	return runs, context.Cause(ctx)
}
