// Command handler is a worker of one's own: it serves a step that is a Go function, beside the steps that ask a model.
//
//	go run ./examples/handler
//	echo '{"text": "how long is this"}' | bin/enqueue run examples/handler/flow.yaml --input - --wait
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/provider/simulated"
	"fourfold/tasks"
	"fourfold/telemetry"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379/0", "where Redis is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := work(ctx, *url)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work runs the worker until ctx ends.
func work(ctx context.Context, url string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("the Redis URL cannot be understood")
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	// The log and the metrics are the stock worker's: one line for each step that is finished, DogStatsD to the agent.
	log, err := telemetry.NewLogger(os.Stderr, "info", "text")
	if err != nil {
		return err
	}
	defer log.Close()
	sink, err := telemetry.New(telemetry.Config{Statsd: "127.0.0.1:8125", Log: log})
	if err != nil {
		return err
	}
	defer sink.Close()
	// A simulation stands for the model, so that the example runs without a key; put openai.New here.
	model, err := simulated.New(simulated.Config{Name: provider.MustName("primary")})
	if err != nil {
		return err
	}
	worker, err := tasks.NewWorker(tasks.WorkerConfig{
		Redis:    rdb,
		Queues:   map[string]int{"default": 1},
		Chains:   map[string]*provider.Chain{"default": provider.NewChain(model)},
		Handlers: map[string]tasks.Handler{"count-words": countWords},
		Observer: sink,
		Logger:   log,
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

// countWords serves the step. It may be called again after a crash, so it should change nothing outside; and like an
// attempt at a model it says why it fails, so that the step gets the right failure class.
func countWords(_ context.Context, in flow.Inputs) (executor.Reply[json.RawMessage], error) {
	var document struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(in.Input.Reveal(), &document); err != nil {
		return executor.Reply[json.RawMessage]{}, executor.Failure{Class: executor.ClassParse, Retry: executor.RetryNo, Err: err}
	}
	value, err := json.Marshal(map[string]int{"words": len(strings.Fields(document.Text))})
	return executor.Reply[json.RawMessage]{Value: value}, err
}
