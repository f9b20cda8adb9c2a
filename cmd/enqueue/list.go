package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
	"fourfold/tasks"
)

type listCommand struct {
	Queue   queueFlag `placeholder:"QUEUE" help:"Only this queue; default all."`
	Outcome *string   `placeholder:"OUTCOME" help:"Only finished runs with this outcome: OK, DEGRADED, ABSTAINED or FAILED."`
	Open    bool      `help:"Only open runs."`
	Stuck   bool      `help:"Only open runs that nobody serves: no worker has their queue, or the handler or chain of a step."`
	Limit   int       `default:"50" help:"At most so many."`
}

// Help is what --help adds.
func (listCommand) Help() string {
	return "STEP and CAUSE say what the outcome is due to, or what an open run waits for: no worker, no provider, no handler, no chain. " + cli.CountsHeading + " counts the steps that are OK, DEGRADED, ABSTAINED, FAILED and skipped. Names that do not fit are cut; --json has them whole."
}

func (c *listCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	filter := tasks.ListFilter{Open: c.Open, Stuck: c.Stuck, Limit: c.Limit}
	if c.Limit < 1 {
		return cli.Usagef("--limit is a whole number from 1")
	}
	if c.Outcome != nil {
		if c.Open || c.Stuck {
			return cli.Usagef("--outcome picks finished runs, --open and --stuck open ones")
		}
		o, err := executor.ParseOutcome(strings.ToUpper(*c.Outcome))
		if err != nil || o == executor.OutcomeNone {
			return cli.Usagef("--outcome is OK, DEGRADED, ABSTAINED or FAILED")
		}
		filter.Outcome = o
	}
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	queues, err := s.queues(ctx, string(c.Queue))
	if err != nil {
		return err
	}
	var runs []tasks.Status
	for _, q := range queues {
		filter.Queue = q
		some, err := s.client.List(ctx, filter)
		if err != nil {
			return err
		}
		runs = append(runs, some...)
	}
	slices.SortStableFunc(runs, func(a, b tasks.Status) int { return b.Created.Compare(a.Created) })
	runs = runs[:min(len(runs), c.Limit)]
	if s.json {
		return printRuns(streams, runs)
	}
	showRuns(streams, runs, time.Now())
	return nil
}

func printRuns(s cli.Streams, runs []tasks.Status) error {
	docs := make([]json.RawMessage, len(runs))
	for i, st := range runs {
		doc, err := st.JSON()
		if err != nil {
			return err
		}
		docs[i] = doc
	}
	return printJSON(s, struct {
		Runs []json.RawMessage `json:"runs"`
	}{docs})
}

// showRuns prints runs for people, with ages as of now.
func showRuns(s cli.Streams, runs []tasks.Status, now time.Time) {
	t := cli.Table{
		Header: []string{"RUN", "FLOW", "OUTCOME", "STEP", "CAUSE", cli.CountsHeading, "AGE"},
		Cut:    []int{1, 3},
		Drop:   []int{5, 1}, // a run's id is whole, or nobody could copy it
		Width:  s.Columns,
		Colour: cli.OutcomeColour(s),
	}
	for _, st := range runs {
		outcome, step, cause := st.State, "", ""
		if st.Outcome != executor.OutcomeNone {
			outcome = st.Outcome.String()
		}
		m, w := st.Marker, longest(st.Steps)
		switch {
		case w.WaitsFor != "" && (m.Step.IsZero() || now.Sub(w.Waits) > time.Minute):
			step, cause = w.Step.String(), "no "+string(w.WaitsFor)
		case !m.Step.IsZero():
			step, cause = m.Step.String(), m.Cause.String()
		}
		t.Rows = append(t.Rows, []string{
			st.Run.String(), st.Flow, outcome, step, cause, cli.Counts(st.Counts), age(now.Sub(st.Created)),
		})
	}
	if len(runs) == 0 {
		fmt.Fprintln(s.Out, "no runs")
		return
	}
	t.Write(s.Out, "")
}

// longest is the step that has waited longest for what is not its parents; without any, none.
func longest(steps []tasks.StepStatus) (w tasks.StepStatus) {
	for _, s := range steps {
		if s.WaitsFor != "" && (w.WaitsFor == "" || s.Waits.Before(w.Waits)) {
			w = s
		}
	}
	return w
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

type queuesCommand struct{}

func (queuesCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	queues, err := s.client.Queues(ctx)
	if err != nil {
		return err
	}
	if s.json {
		if queues == nil {
			queues = []tasks.QueueStatus{}
		}
		return printJSON(streams, struct {
			Queues []tasks.QueueStatus `json:"queues"`
		}{queues})
	}
	showQueues(streams, queues)
	return nil
}

func showQueues(s cli.Streams, queues []tasks.QueueStatus) {
	if len(queues) == 0 {
		fmt.Fprintln(s.Out, "no queues")
		return
	}
	t := cli.Table{Header: []string{"QUEUE", "PENDING", "ACTIVE", "SCHEDULED", "RETRY", "ARCHIVED", "OUTBOX", "OPEN", "FAILED", "OLDEST", "STATE"}, Cut: []int{0}, Width: s.Columns}
	for _, q := range queues {
		state := ""
		if q.Paused {
			state = "paused"
		}
		row := []string{q.Queue}
		for _, n := range []int64{q.Pending, q.Active, q.Scheduled, q.Retry, q.Archived, q.Outbox, q.OpenRuns, q.FailedRuns} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		oldest := "-"
		if q.OldestPendingMS > 0 {
			oldest = seconds(time.Duration(q.OldestPendingMS) * time.Millisecond)
		}
		t.Rows = append(t.Rows, append(row, oldest, state))
	}
	t.Write(s.Out, "")
}
