package main

import (
	"context"
	"errors"
	"os"

	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/demo"
)

type demoCommand struct {
	Config  string `placeholder:"FILE" type:"path" env:"-" help:"A worker.yaml whose providers are asked instead of the demo's simulated ones; real ones cost tokens."`
	Metrics bool   `help:"Show every line of DogStatsD, not one of each metric."`
	JSON    bool   `name:"json" help:"Print one JSON document on standard output."`
}

// Help is what --help adds.
func (demoCommand) Help() string {
	return "The demo's Redis is in this process and keeps nothing; yours is never touched. So that nobody takes it for a worker on a real Redis, the demo refuses while FOURFOLD_REDIS is set."
}

func (c *demoCommand) Run(parent context.Context, streams cli.Streams) error {
	for _, name := range []string{"FOURFOLD_REDIS", "FOURFOLD_REDIS_URL"} {
		if os.Getenv(name) != "" {
			return errors.New("the demo has a Redis of its own, in memory, but " + name + " names one: unset it, or use `worker run`")
		}
	}
	ctx, stop := cli.Interruptible(parent)
	defer stop()
	redis.SetLogger(silent{})
	o := demo.Options{Streams: streams, JSON: c.JSON, Metrics: c.Metrics}
	if c.Config != "" {
		file, err := config.Load(c.Config)
		if err != nil {
			return err
		}
		if err := file.Finish(config.Overrides{}, os.LookupEnv); err != nil {
			return err
		}
		o.Config = file
	}
	return demo.Run(ctx, o)
}
