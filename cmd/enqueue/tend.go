package main

import (
	"context"
	"fmt"
	"slices"

	"fourfold/cmd/internal/cli"
)

type pauseCommand struct {
	Queue queueFlag `arg:"" help:"The queue."`
}

// Help is what --help adds.
func (pauseCommand) Help() string {
	return "What is in flight goes on to its end; what is submitted waits for enqueue resume."
}

func (c *pauseCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.known(ctx, string(c.Queue)); err != nil {
		return err
	}
	if err := s.client.PauseQueue(ctx, string(c.Queue)); err != nil {
		return err
	}
	return s.paused(string(c.Queue), true)
}

type resumeCommand struct {
	Queue queueFlag `arg:"" help:"The queue."`
}

func (c *resumeCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.known(ctx, string(c.Queue)); err != nil {
		return err
	}
	if err := s.client.ResumeQueue(ctx, string(c.Queue)); err != nil {
		return err
	}
	return s.paused(string(c.Queue), false)
}

type discardCommand struct {
	Queue queueFlag `arg:"" help:"The queue."`
}

// Help is what --help adds.
func (discardCommand) Help() string {
	return "Archived are tasks that no worker could read. Runs are elsewhere, failed ones too: none is lost by this."
}

func (c *discardCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.known(ctx, string(c.Queue)); err != nil {
		return err
	}
	n, err := s.client.DiscardArchived(ctx, string(c.Queue))
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(streams, struct {
			Queue     string `json:"queue"`
			Discarded int    `json:"discarded"`
		}{string(c.Queue), n})
	}
	_, err = fmt.Fprintf(streams.Out, "%s of queue %s discarded\n", cli.Count(n, "archived task"), string(c.Queue))
	return err
}

// known refuses a queue that nobody ever used: a name misspelt at night must not pass for done.
func (s *session) known(ctx context.Context, queue string) error {
	names, err := s.queues(ctx, "")
	if err != nil {
		return err
	}
	if !slices.Contains(names, queue) {
		return fmt.Errorf("there is no queue %s; enqueue queues lists them", queue)
	}
	return nil
}

func (s *session) paused(queue string, paused bool) error {
	if s.json {
		return printJSON(s.streams, struct {
			Queue  string `json:"queue"`
			Paused bool   `json:"paused"`
		}{queue, paused})
	}
	text := "queue %s goes on\n"
	if paused {
		text = "queue %s is paused\n"
	}
	_, err := fmt.Fprintf(s.streams.Out, text, queue)
	return err
}
