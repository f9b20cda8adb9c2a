package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
)

// exit is the exit status of a run: by its outcome, 0 while it is open.
func exit(o executor.Outcome) error {
	switch o {
	case executor.OutcomeDegraded:
		return cli.Status(cli.StatusDegraded)
	case executor.OutcomeFailed:
		return cli.Status(cli.StatusFailed)
	case executor.OutcomeOK, executor.OutcomeAbstained, executor.OutcomeNone:
	}
	return nil
}

// finish shows a run and ends the command with its exit status.
func (s *session) finish(st tasks.Status) error {
	if err := s.show(st); err != nil {
		return err
	}
	return exit(st.Outcome)
}

func (s *session) show(st tasks.Status) error {
	if !s.json {
		if !s.named {
			fmt.Fprintf(s.streams.Out, runLine, st.Run)
		}
		showStatus(s.streams, st, time.Now())
		return nil
	}
	data, err := st.JSON()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.streams.Out, "%s\n", data)
	return err
}

// runLine is the first line of a status for people.
const runLine = "run      %s\n"

// showStatus prints a status document for people, but for its first line, with ages as of now.
func showStatus(s cli.Streams, st tasks.Status, now time.Time) {
	w := s.Out
	fmt.Fprintf(w, "flow     %s, bundle %.12s\n", st.Flow, st.BundleSHA)
	fmt.Fprintf(w, "state    %s%s\n", st.State, took(st))
	if st.Outcome != executor.OutcomeNone {
		fmt.Fprintf(w, "outcome  %s%s\n", st.Outcome, because(st.Marker))
	} else if why := because(st.Marker); why != "" {
		fmt.Fprintf(w, "so far   %s%s\n", st.Marker.Outcome, why)
	}
	fmt.Fprintf(w, "steps    %s\n", countsText(st.Counts))
	for _, line := range waiting(st, now) {
		fmt.Fprintln(w, cli.Wrap("waiting  "+line, " ", "         "))
	}
	fmt.Fprintln(w)
	stepTable(s, st.Steps).Write(w, "")
	showValues(w, st)
}

// waitingAfter is how long a step waits before it is worth a line, and waitingMost how many lines there are.
const (
	waitingAfter = 5 * time.Second
	waitingMost  = 3
)

// waiting says what steps wait for that could run now.
func waiting(st tasks.Status, now time.Time) []string {
	var lines []string
	for _, step := range st.Steps {
		waits := now.Sub(step.Waits)
		if step.WaitsFor == "" || step.Waits.IsZero() || waits < waitingAfter || len(lines) == waitingMost {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s, for %s: %s", step.Step, age(waits), waitsText(step.WaitsFor, st.Run.Queue())))
	}
	return lines
}

func waitsText(w tasks.WaitsFor, queue string) string {
	switch w {
	case tasks.WaitsForWorker:
		return "no worker has taken it; is one serving queue " + queue + "?"
	case tasks.WaitsForHandler:
		return "no worker that took it has its handler"
	case tasks.WaitsForChain:
		return "no worker that took it has its chain, or a provider in it that can do all that it requires"
	case tasks.WaitsForProvider:
		return "its provider may not be called yet"
	}
	return string(w)
}

func took(st tasks.Status) string {
	if st.Finished.IsZero() || st.Created.IsZero() {
		return ""
	}
	return " after " + seconds(st.Finished.Sub(st.Created))
}

func because(m tasks.Marker) string {
	if m.Step.IsZero() {
		return ""
	}
	return fmt.Sprintf(": %s, %s", m.Step, m.Cause)
}

func countsText(c tasks.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{{c.OK, "OK"}, {c.Degraded, "DEGRADED"}, {c.Abstained, "ABSTAINED"}, {c.Failed, "FAILED"}, {c.Skipped, "skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	if len(parts) == 0 {
		return "none finished"
	}
	return strings.Join(parts, ", ")
}

func stepTable(s cli.Streams, steps []tasks.StepStatus) cli.Table {
	t := cli.Table{
		Header: []string{"STEP", "OUTCOME", "CAUSE", "ATTEMPTS", "LATENCY", "PROVIDER", "ERROR", "MODEL", "IN", "OUT"},
		Cut:    []int{0, 5, 6, 7},
		Drop:   []int{7, 9, 8, 5, 4, 3},
		Width:  s.Columns,
		Colour: cli.OutcomeColour(s),
	}
	for _, st := range steps {
		t.Rows = append(t.Rows, stepRow(st))
	}
	return t
}

func stepRow(st tasks.StepStatus) []string {
	if st.Outcome == executor.OutcomeNone {
		return []string{st.Step.String(), st.State, "", "", "", "", "", "", "", ""}
	}
	in, out := "", ""
	if st.Usage.Known() {
		in, out = strconv.FormatInt(st.Usage.Input(), 10), strconv.FormatInt(st.Usage.Output(), 10)
	}
	latency := "-"
	if !st.Skipped {
		latency = seconds(st.Latency)
	}
	return []string{
		st.Step.String(), st.Outcome.String(), stepCause(st), strconv.Itoa(st.Attempts), latency,
		st.Provider.String(), errorText(st.ErrorKind, st.Reason), st.Model.String(), in, out,
	}
}

func stepCause(st tasks.StepStatus) string {
	switch {
	case st.Skipped:
		return "skipped"
	case st.FailureClass != executor.ClassNone:
		return st.FailureClass.String()
	case st.Outcome == executor.OutcomeFailed:
		return st.Cause.String()
	}
	return ""
}

func errorText(k provider.Kind, r provider.Reason) string {
	switch {
	case k == provider.KindNone:
		return ""
	case r == provider.ReasonNone:
		return k.String()
	}
	return k.String() + ", " + r.String()
}

func showValues(w io.Writer, st tasks.Status) {
	ids := slices.SortedFunc(maps.Keys(st.Values), func(a, b executor.StepID) int { return strings.Compare(a.String(), b.String()) })
	for _, id := range ids {
		var pretty bytes.Buffer
		value := st.Values[id].Reveal()
		if json.Indent(&pretty, value, "", "  ") != nil {
			pretty.Write(value)
		}
		fmt.Fprintf(w, "\n%s = %s\n", id, pretty.Bytes())
	}
}

// seconds is a duration as people compare them: <1ms, 12ms, 1.25s, 1m4s.
func seconds(d time.Duration) string {
	switch {
	case d < time.Millisecond/2:
		return "<1ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
