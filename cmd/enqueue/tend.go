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
	return tend(ctx, g, streams, c.Queue, func(s *session, queue string) error {
		if err := s.client.PauseQueue(ctx, queue); err != nil {
			return err
		}
		return s.paused(queue, true)
	})
}

type resumeCommand struct {
	Queue queueFlag `arg:"" help:"The queue."`
}

func (c *resumeCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	return tend(ctx, g, streams, c.Queue, func(s *session, queue string) error {
		if err := s.client.ResumeQueue(ctx, queue); err != nil {
			return err
		}
		return s.paused(queue, false)
	})
}

type discardCommand struct {
	Queue queueFlag `arg:"" help:"The queue."`
}

// Help is what --help adds.
func (discardCommand) Help() string {
	return "Archived are tasks that no worker could read. Runs are elsewhere, failed ones too: none is lost by this."
}

func (c *discardCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	return tend(ctx, g, streams, c.Queue, func(s *session, queue string) error {
		n, err := s.client.DiscardArchived(ctx, queue)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(streams, struct {
				Queue     string `json:"queue"`
				Discarded int    `json:"discarded"`
			}{queue, n})
		}
		_, err = fmt.Fprintf(streams.Out, "%s of queue %s discarded\n", cli.Count(n, "archived task"), queue)
		return err
	})
}

// tend does something to a queue. One that nobody ever used is refused: a name misspelt at night must not pass for done.
func tend(ctx context.Context, g *globals, streams cli.Streams, queue queueFlag, do func(s *session, queue string) error) error {
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	names, err := s.queues(ctx, "")
	if err != nil {
		return err
	}
	if !slices.Contains(names, string(queue)) {
		return fmt.Errorf("there is no queue %s; enqueue queues lists them", queue)
	}
	return do(s, string(queue))
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
