package demo_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/demo"
)

// ending is how a document's run ended.
type ending struct{ Outcome, Step, Cause string }

// want is the same on every machine: the faults are scripted.
var want = map[string]ending{
	"invoice-2041": {Outcome: "OK"}, "contract-114": {Outcome: "OK"}, "minutes-07": {Outcome: "OK"}, "datasheet-x9": {Outcome: "OK"},
	"order-5530": {Outcome: "OK"}, "letter-88": {Outcome: "OK"}, "quote-310": {Outcome: "OK"}, "manual-c2": {Outcome: "OK"},
	"payroll-03": {Outcome: "OK"}, "notice-12": {Outcome: "OK"}, "receipt-602": {Outcome: "OK"}, "memo-19": {Outcome: "OK"},
	"delivery-778": {Outcome: "OK"}, "protocol-4": {Outcome: "OK"}, "invoice-2042": {Outcome: "OK"},
	"report-q1": {"DEGRADED", "classify-tables", "upstream-5xx"},
	"claim-71":  {"DEGRADED", "classify-tables", "timeout"},
	"audit-b":   {"DEGRADED", "classify-tables", "schema"},
	"tender-9":  {"DEGRADED", "map-blocks", "parse"},
	"budget-27": {"FAILED", "summarise", "parse"},
}

func TestTheDemoForPrograms(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if err := demo.Run(t.Context(), demo.Options{Streams: cli.Streams{Out: &out, Err: &errs}, JSON: true}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Simulated bool
		Redis     string
		Outcomes  map[string]int
		Steps     map[string]int
		Runs      []struct {
			Document string
			Status   struct {
				State, Outcome string
				Marker         ending
				Counts         struct{ Abstained int }
				Steps          []struct {
					Model string `json:"model_version"`
				}
				Values map[string]any
			}
		}
		Metrics []string
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	got := map[string]ending{}
	abstained := 0
	for _, r := range doc.Runs {
		got[r.Document] = r.Status.Marker
		abstained += r.Status.Counts.Abstained
		for _, s := range r.Status.Steps {
			if s.Model != "" && !strings.HasPrefix(s.Model, "simulated-") {
				t.Errorf("%s: a step names the model %q", r.Document, s.Model)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if !doc.Simulated || doc.Redis != "embedded" || abstained != 4 || doc.Steps["ABSTAINED"] != 4 {
		t.Errorf("simulated %v, redis %q, %d steps abstained, %v", doc.Simulated, doc.Redis, abstained, doc.Steps)
	}
	if diff := cmp.Diff(map[string]int{"OK": 15, "DEGRADED": 4, "ABSTAINED": 0, "FAILED": 1}, doc.Outcomes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	holdMetrics(t, doc.Metrics)
	if !strings.Contains(errs.String(), "SIMULATED") {
		t.Errorf("the headline does not say what is simulated: %s", errs.String())
	}
}

// holdMetrics compares what arrived with what must have been sent: a step of each outcome, and nothing that is no line.
func holdMetrics(t *testing.T, lines []string) {
	t.Helper()
	line := regexp.MustCompile(`^fourfold\.[a-z_.]+:[0-9.:eE+-]+\|(c|g|d)(\|@[0-9.]+)?(\|#[^|]+)?$`)
	finished := map[string]bool{}
	for _, l := range lines {
		if !line.MatchString(l) {
			t.Errorf("not a line of DogStatsD: %q", l)
		}
		if strings.HasPrefix(l, "fourfold.step.finished:") {
			finished[regexp.MustCompile(`,outcome:([A-Z]+)`).FindStringSubmatch(l)[1]] = true
		}
	}
	if len(finished) != 4 {
		t.Errorf("step.finished was sent for %v", finished)
	}
	for _, name := range []string{"run.finished", "run.latency", "step.latency", "step.attempts", "step.tokens", "provider.calls", "provider.latency", "provider.fallbacks"} {
		if !strings.Contains(strings.Join(lines, "\n"), "fourfold."+name+":") {
			t.Errorf("%s was not sent", name)
		}
	}
}

// holdWidth says which lines are too wide for a terminal.
func holdWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > cli.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestProvidersOfAConfigurationAreSimulatedOnlyIfItSaysSo(t *testing.T) {
	t.Parallel()
	file, err := config.Load("../../../examples/simulated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Finish(config.Overrides{}, func(string) (string, bool) { return "", false }); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if err := demo.Run(t.Context(), demo.Options{Streams: cli.Streams{Out: &out, Err: &errs}, Config: file}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	holdWidth(t, text)
	for _, part := range []string{"SIMULATED (primary): no model is asked", "SECONDS", "(simulated)"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Contains(text, "REAL") || strings.Contains(text, "SCRIPTED") {
		t.Error("simulated providers are said to be real, or scripted by the demo")
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestTheDemoForPeople(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if err := demo.Run(t.Context(), demo.Options{Streams: cli.Streams{Out: &out, Err: &errs}}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	holdWidth(t, text)
	for document, e := range want {
		progress := regexp.MustCompile(`(?m)^ *\d+/20  ` + document + ` +` + e.Outcome + ` `)
		row := regexp.MustCompile(`(?m)^` + document + ` +` + e.Outcome + ` +` + e.Step + ` +` + e.Cause)
		if !progress.MatchString(text) || !row.MatchString(text) {
			t.Errorf("%s: no line of progress or no row", document)
		}
	}
	for _, part := range []string{"SIMULATED", "20 runs in ", "DogStatsD: ", "(simulated)"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if errs.Len() > 0 {
		t.Errorf("standard error has %q", errs.String())
	}
	if t.Failed() {
		t.Log(text)
	}
}
