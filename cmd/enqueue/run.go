package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fourfold/cmd/internal/cli"
	"fourfold/tasks"
)

type runCommand struct {
	Flow    string     `arg:"" placeholder:"FLOW.yaml" help:"The flow file."`
	Input   string     `required:"" placeholder:"FILE" help:"One JSON value; - reads standard input."`
	Key     *string    `placeholder:"KEY" help:"Idempotency key: submitting again with it is the same run."`
	Queue   queueFlag  `default:"default" help:"Queue to put the run on."`
	OnDone  queueFlag  `placeholder:"QUEUE" help:"Queue that gets a task when the run is done."`
	Wait    bool       `help:"Wait until the run is done; the exit status is its outcome."`
	Timeout span       `placeholder:"DURATION" help:"Wait at most this long."`
	Values  valuesFlag `default:"sink" enum:"sink,all,none" help:"Whose values to show: of steps that nothing depends on, of all, or none."`
}

type valuesFlag string

func (v valuesFlag) pick() tasks.Values {
	switch v {
	case "all":
		return tasks.AllValues
	case "none":
		return tasks.NoValues
	}
	return tasks.SinkValues
}

func (c *runCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	if c.Key != nil && *c.Key == "" {
		return cli.Usagef("--key is empty; leave it out for a new run each time")
	}
	bundle, err := g.bundle(c.Flow)
	if err != nil {
		return err
	}
	input, err := readInput(c.Input, streams.In)
	if err != nil {
		return err
	}
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	run, err := s.client.Submit(ctx, tasks.Submission{Bundle: bundle, Input: input, Queue: string(c.Queue), Key: text(c.Key), OnDone: string(c.OnDone)})
	if err != nil {
		return err
	}
	if c.Wait {
		if !s.json {
			fmt.Fprintf(streams.Err, runLine, run)
			s.named = streams.Terminal && streams.Screen
		}
		return s.waitFor(ctx, run, c.Values.pick(), c.Timeout.std())
	}
	if s.json {
		st, err := s.client.Status(ctx, run, c.Values.pick())
		if err != nil {
			return about(run, err)
		}
		return s.finish(st)
	}
	_, err = fmt.Fprintln(streams.Out, run)
	return err
}

// waitFor shows the run when it is done. When the time is over first, it shows the open run and says so.
func (s *session) waitFor(ctx context.Context, run tasks.RunID, v tasks.Values, timeout time.Duration) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	stop := s.notice(ctx, run, s.say)
	st, err := s.client.Wait(limited, run, v)
	stop()
	if err == nil {
		return s.finish(st)
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		if st, statusErr := s.client.Status(ctx, run, v); statusErr == nil {
			_ = s.show(st)
		}
		return fmt.Errorf("run %s is still open after %s", run, timeout)
	}
	if ctx.Err() != nil {
		err = context.Canceled
	}
	return about(run, err)
}

type statusCommand struct {
	runArg
	Values valuesFlag `default:"sink" enum:"sink,all,none" help:"Whose values to show: of steps that nothing depends on, of all, or none."`
}

func (c *statusCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, run, err := c.open(ctx, g, streams)
	if err != nil {
		return err
	}
	defer s.close()
	st, err := s.client.Status(ctx, run, c.Values.pick())
	if err != nil {
		return about(run, err)
	}
	return s.finish(st)
}

type waitCommand struct {
	runArg
	Timeout span       `placeholder:"DURATION" help:"Wait at most this long."`
	Values  valuesFlag `default:"sink" enum:"sink,all,none" help:"Whose values to show: of steps that nothing depends on, of all, or none."`
}

func (c *waitCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, run, err := c.open(ctx, g, streams)
	if err != nil {
		return err
	}
	defer s.close()
	return s.waitFor(ctx, run, c.Values.pick(), c.Timeout.std())
}

// text is what an optional flag says; empty when it was not given.
func text(flag *string) string {
	if flag == nil {
		return ""
	}
	return *flag
}
