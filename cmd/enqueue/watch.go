package main

import (
	"context"
	"fmt"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
	"fourfold/tasks"
)

type watchCommand struct {
	runArg
	Values valuesFlag `default:"sink" enum:"sink,all,none" help:"Whose values to show at the end."`
}

// Help is what --help adds.
func (watchCommand) Help() string {
	return "With --json each change is one status document on a line, without values; the last line is the finished run with them."
}

func (c *watchCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, run, err := c.open(ctx, g, streams)
	if err != nil {
		return err
	}
	defer s.close()
	w := watcher{session: s, seen: map[executor.StepID]string{}}
	stop := s.notice(ctx, run, s.say)
	err = s.client.Watch(ctx, run, w.changed)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Canceled
		}
		return about(run, err)
	}
	st, err := s.client.Status(ctx, run, c.Values.pick())
	if err != nil {
		return about(run, err)
	}
	if !s.json {
		fmt.Fprintln(streams.Out)
	}
	return s.finish(st)
}

// watcher turns statuses into lines, one for each step that changed.
type watcher struct {
	*session
	seen map[executor.StepID]string
}

func (w *watcher) changed(st tasks.Status) {
	if w.json {
		if st.Outcome == executor.OutcomeNone { // the finished run is shown with its values
			_ = w.show(st)
		}
		return
	}
	for _, step := range st.Steps {
		now := step.State
		if step.Outcome != executor.OutcomeNone {
			now = step.Outcome.String()
			if cause := stepCause(step); cause != "" {
				now += " (" + cause + ")"
			}
			if !step.Skipped {
				now += " after " + seconds(step.Latency)
			}
		}
		if w.seen[step.Step] != now && step.State != "waiting" {
			fmt.Fprintf(w.streams.Out, "%s: %s\n", step.Step, now)
		}
		w.seen[step.Step] = now
	}
}
