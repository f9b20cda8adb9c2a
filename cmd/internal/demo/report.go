package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
)

// report is what the demo shows when every run is done.
type report struct {
	options Options
	runs    []run
	tally   *tally
	lines   []string // of DogStatsD
	took    time.Duration
}

var everyOutcome = []executor.Outcome{executor.OutcomeOK, executor.OutcomeDegraded, executor.OutcomeAbstained, executor.OutcomeFailed}

func (r report) write() error {
	if r.options.JSON {
		return r.writeJSON()
	}
	w := r.options.Streams.Out
	fmt.Fprintln(w)
	r.table().Write(w, "")
	fmt.Fprintln(w)
	r.summary(w)
	r.metrics(w)
	return nil
}

func (r report) table() cli.Table {
	t := cli.Table{
		Header: []string{"DOCUMENT", "OUTCOME", "NAMES", "CAUSE", "OK", "DEGR", "ABST", "FAIL", "SKIP", "ATTEMPTS", "SECONDS"},
		Colour: cli.OutcomeColour(r.options.Streams),
	}
	if r.options.Config == nil {
		t.Header = append(t.Header, "WHAT WAS SCRIPTED")
	}
	for _, x := range r.runs {
		step, cause, attempts := "", "", 0
		if m := x.status.Marker; !m.Step.IsZero() {
			step, cause = m.Step.String(), m.Cause.String()
		}
		for _, s := range x.status.Steps {
			attempts += s.Attempts
		}
		c := x.status.Counts
		row := []string{
			x.document.id, x.status.Outcome.String(), step, cause,
			strconv.Itoa(c.OK), strconv.Itoa(c.Degraded), strconv.Itoa(c.Abstained), strconv.Itoa(c.Failed), strconv.Itoa(c.Skipped),
			strconv.Itoa(attempts), fmt.Sprintf("%.1f", lasted(x.status).Seconds()),
		}
		if r.options.Config == nil {
			row = append(row, x.document.story)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r report) outcomes() map[executor.Outcome]int {
	n := map[executor.Outcome]int{}
	for _, x := range r.runs {
		n[x.status.Outcome]++
	}
	return n
}

func (r report) summary(w io.Writer) {
	fmt.Fprintf(w, "%d runs in %.1f s   %s\n", len(r.runs), r.took.Seconds(), outcomeCounts(r.outcomes()))
	fmt.Fprintf(w, "their steps        %s\n", outcomeCounts(r.tally.steps))
	calls, total := []string{}, 0
	for _, c := range r.tally.counts() {
		total += c.Calls
		answer := c.ErrorKind
		if answer == "none" {
			answer = "answered"
		}
		calls = append(calls, fmt.Sprintf("%s %s %d", c.Provider, answer, c.Calls))
	}
	fmt.Fprintf(w, "provider calls     %d (%s), %d fallbacks\n", total, strings.Join(calls, ", "), r.tally.fallbacks)
	if u := r.tally.usage; u.Known() {
		simulated := ""
		if r.options.Config == nil {
			simulated = " (simulated)"
		}
		fmt.Fprintf(w, "tokens             %d in, %d out%s\n", u.Input(), u.Output(), simulated)
	}
}

func outcomeCounts(n map[executor.Outcome]int) string {
	var parts []string
	for _, o := range everyOutcome {
		parts = append(parts, fmt.Sprintf("%s %d", o, n[o]))
	}
	return strings.Join(parts, "  ")
}

func (r report) metrics(w io.Writer) {
	shown := r.lines
	if r.options.Metrics {
		fmt.Fprintf(w, "\nDogStatsD: %d lines were sent over UDP.\n", len(r.lines))
	} else {
		shown = oneOfEach(r.lines)
		fmt.Fprintf(w, "\nDogStatsD: %d lines were sent over UDP; one of each metric (--metrics shows all):\n", len(r.lines))
	}
	for _, line := range shown {
		fmt.Fprintln(w, " ", line)
	}
}

// writeJSON prints the whole report as one document.
func (r report) writeJSON() error {
	type documentRun struct {
		Document string          `json:"document"`
		Scripted string          `json:"scripted,omitempty"`
		Status   json.RawMessage `json:"status"`
	}
	doc := struct {
		Simulated bool           `json:"simulated"`
		Redis     string         `json:"redis"`
		Seconds   float64        `json:"seconds"`
		Outcomes  map[string]int `json:"outcomes"`
		Steps     map[string]int `json:"steps"`
		Calls     []callCount    `json:"calls"`
		Fallbacks int            `json:"fallbacks"`
		Runs      []documentRun  `json:"runs"`
		Metrics   []string       `json:"metrics"`
	}{
		Simulated: r.options.Config == nil, Redis: "embedded", Seconds: r.took.Seconds(),
		Outcomes: map[string]int{}, Steps: map[string]int{},
		Calls: r.tally.counts(), Fallbacks: r.tally.fallbacks, Metrics: r.lines,
	}
	runs := r.outcomes()
	for _, o := range everyOutcome {
		doc.Outcomes[o.String()], doc.Steps[o.String()] = runs[o], r.tally.steps[o]
	}
	for _, x := range r.runs {
		status, err := x.status.JSON()
		if err != nil {
			return err
		}
		doc.Runs = append(doc.Runs, documentRun{x.document.id, x.document.story, status})
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.options.Streams.Out, "%s\n", data)
	return err
}
