package main

import (
	"context"
	"errors"
	"fmt"

	"fourfold/cmd/internal/cli"
	"fourfold/tasks"
)

type cancelCommand struct {
	runArg
}

func (c *cancelCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, run, err := c.open(ctx, g, streams)
	if err != nil {
		return err
	}
	defer s.close()
	finished, err := s.client.Cancel(ctx, run)
	if err != nil {
		return about(run, err)
	}
	if s.json {
		return printJSON(streams, struct {
			Run      string `json:"run"`
			Canceled bool   `json:"canceled"`
		}{run.String(), !finished})
	}
	if finished {
		fmt.Fprintf(streams.Out, "run %s was done already; nothing was canceled\n", run)
	} else {
		fmt.Fprintf(streams.Out, "run %s is canceled\n", run)
	}
	return nil
}

type rerunCommand struct {
	ID      string     `arg:"" optional:"" name:"run" help:"The run; or --failed."`
	Failed  bool       `help:"Rerun the failed runs of a queue."`
	Class   *string    `placeholder:"CAUSE" help:"With --failed: only runs with this cause, such as upstream-5xx or crash."`
	Since   span       `placeholder:"DURATION" help:"With --failed: only runs that finished within this time."`
	Queue   queueFlag  `placeholder:"QUEUE" help:"With --failed: only this queue."`
	Wait    bool       `help:"With one run: wait until it is done."`
	Timeout span       `placeholder:"DURATION" help:"Wait at most this long."`
	Values  valuesFlag `default:"sink" enum:"sink,all,none" help:"With --wait: whose values to show."`
}

func (c *rerunCommand) check() error {
	switch {
	case c.Failed && c.ID != "":
		return cli.Usagef("rerun takes one run, or --failed, not both")
	case !c.Failed && c.ID == "":
		return cli.Usagef("rerun takes a run, or --failed")
	case !c.Failed && (c.Class != nil || c.Since != 0 || c.Queue != ""):
		return cli.Usagef("--class, --since and --queue go with --failed")
	case c.Failed && c.Wait:
		return cli.Usagef("--wait goes with one run")
	}
	if c.Class != nil {
		if _, err := tasks.ParseCause(*c.Class); err != nil {
			return cli.Usagef("--class is one of %v", tasks.Causes())
		}
	}
	return nil
}

func (c *rerunCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Failed {
		return c.bulk(ctx, g, streams)
	}
	s, run, err := runArg{c.ID}.open(ctx, g, streams)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.client.Rerun(ctx, run); err != nil {
		return about(run, err)
	}
	if c.Wait {
		return s.waitFor(ctx, run, c.Values.pick(), c.Timeout.std())
	}
	return s.reran(run, nil)
}

// bulk reruns what the filter picks. A run that another hand reran or that expired meanwhile stops nothing.
func (c *rerunCommand) bulk(ctx context.Context, g *globals, streams cli.Streams) error {
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	queues, err := s.queues(ctx, string(c.Queue))
	if err != nil {
		return err
	}
	cause := tasks.CauseNone
	if c.Class != nil {
		cause, _ = tasks.ParseCause(*c.Class) // checked
	}
	n := 0
	for _, q := range queues {
		runs, err := s.client.Failed(ctx, tasks.FailedFilter{Queue: q, Cause: cause, Since: c.Since.std()})
		if err != nil {
			return err
		}
		for _, run := range runs {
			err := s.client.Rerun(ctx, run)
			if err != nil && !errors.Is(err, tasks.ErrNotFound) && !errors.Is(err, tasks.ErrStillOpen) && !errors.Is(err, tasks.ErrNothingToRerun) {
				return about(run, err)
			}
			if err == nil {
				n++
			}
			if err := s.reran(run, err); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(streams.Err, "%s started again\n", cli.Count(n, "run"))
	return nil
}

// reran says that a run was started again, or why not.
func (s *session) reran(run tasks.RunID, why error) error {
	if s.json {
		line := struct {
			Run    string `json:"run"`
			Rerun  bool   `json:"rerun"`
			Reason string `json:"reason,omitempty"`
		}{Run: run.String(), Rerun: why == nil}
		if why != nil {
			line.Reason = cli.Text(why)
		}
		return printJSON(s.streams, line)
	}
	if why != nil {
		fmt.Fprintf(s.streams.Out, "%s not started again: %s\n", run, cli.Text(why))
		return nil
	}
	fmt.Fprintf(s.streams.Out, "%s started again\n", run)
	return nil
}

// queues is the one queue that was named, or every queue there is.
func (s *session) queues(ctx context.Context, given string) ([]string, error) {
	if given != "" {
		return []string{given}, nil
	}
	all, err := s.client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, q := range all {
		names = append(names, q.Queue)
	}
	return names, nil
}
