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
	"fourfold/provider"
)

// report is what the demo shows when every run is done.
type report struct {
	options   Options
	simulated bool // no provider was a real one
	runs      []run
	tally     *tally
	lines     []string // of DogStatsD
	took      time.Duration
}

var everyOutcome = []executor.Outcome{executor.OutcomeOK, executor.OutcomeDegraded, executor.OutcomeAbstained, executor.OutcomeFailed}

func (r report) write() error {
	if r.options.JSON {
		return r.writeJSON()
	}
	w := r.options.Streams.Out
	fmt.Fprintln(w)
	r.table().Write(w, "")
	fmt.Fprintf(w, "\n%s: steps that are OK, DEGRADED, ABSTAINED, FAILED, skipped. TRIES: attempts of all steps.\n\n", cli.CountsHeading)
	r.summary(w)
	r.metrics(w)
	return nil
}

func (r report) table() cli.Table {
	t := cli.Table{
		Header: []string{"DOCUMENT", "OUTCOME", "STEP", "CAUSE", cli.CountsHeading, "TRIES"},
		Cut:    []int{0, 2},
		Colour: cli.OutcomeColour(r.options.Streams),
	}
	last := "SECONDS"
	if r.options.Config == nil {
		last = "WHAT WAS SCRIPTED" // the seconds stand in the lines above
	}
	t.Header = append(t.Header, last)
	for _, x := range r.runs {
		step, cause, attempts := "", "", 0
		if m := x.status.Marker; !m.Step.IsZero() {
			step, cause = m.Step.String(), m.Cause.String()
		}
		for _, s := range x.status.Steps {
			attempts += s.Attempts
		}
		remark := fmt.Sprintf("%.1f", lasted(x.status).Seconds())
		if r.options.Config == nil {
			remark = x.document.story
		}
		t.Rows = append(t.Rows, []string{
			x.document.id, x.status.Outcome.String(), step, cause, cli.Counts(x.status.Counts), strconv.Itoa(attempts), remark,
		})
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
	fmt.Fprintf(w, "%-18s %s\n", fmt.Sprintf("%s in %.1f s", cli.Count(len(r.runs), "run"), r.took.Seconds()), outcomeCounts(r.outcomes()))
	fmt.Fprintf(w, "their steps        %s\n", outcomeCounts(r.tally.steps))
	r.calls(w)
	if u := r.tally.usage; u.Known() {
		simulated := ""
		if r.simulated {
			simulated = " (simulated)"
		}
		fmt.Fprintf(w, "tokens             %d in, %d out%s\n", u.Input(), u.Output(), simulated)
	}
}

// calls prints a line for each provider: how its calls ended.
func (r report) calls(w io.Writer) {
	total, order, ends := 0, []string{}, map[string][]string{}
	for _, c := range r.tally.counts() {
		total += c.Calls
		if ends[c.Provider] == nil {
			order = append(order, c.Provider)
		}
		end := c.ErrorKind
		if end == provider.KindNone.String() {
			end = "answered"
		}
		ends[c.Provider] = append(ends[c.Provider], fmt.Sprintf("%s %d", end, c.Calls))
	}
	fmt.Fprintf(w, "provider calls     %d, %s\n", total, cli.Count(r.tally.fallbacks, "fallback"))
	for _, name := range order {
		fmt.Fprintln(w, cli.Wrap(fmt.Sprintf("  %-16s %s", name, strings.Join(ends[name], "  ")), " ", strings.Repeat(" ", 19)))
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
	if r.options.Metrics {
		fmt.Fprintf(w, "\nDogStatsD: %s sent over UDP:\n", cli.Count(len(r.lines), "line"))
		for _, line := range r.lines { // as they were sent: for grep
			fmt.Fprintln(w, " ", line)
		}
		return
	}
	fmt.Fprintf(w, "\nDogStatsD: %s sent over UDP; one of each metric, long ones cut (--metrics shows all):\n", cli.Count(len(r.lines), "line"))
	for _, line := range oneOfEach(r.lines) {
		fmt.Fprintln(w, cli.Wrap("  "+fewValues(line), ",", "      "))
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
		Simulated: r.simulated, Redis: "embedded", Seconds: r.took.Seconds(),
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
