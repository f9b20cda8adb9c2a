package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/internal/openaitest"
)

const oneStep = `
flow: one
steps:
  - id: ask
    prompt: ask.tmpl
    output: answer.json
    chain: default
    requires: [json_schema]
    budget: {attempts: 3, per_attempt: 50s, total: 160s, backoff: 10ms}
    abstain: {on: 'input.skip == true', to: '{"n": 0}'}
`

const answerSchema = `{"type": "object", "required": ["n"], "additionalProperties": false, "properties": {"n": {"type": "integer"}}}`

// oneStepFlow writes the flow, with degrade_to or without.
func (w *world) oneStepFlow(degrade bool) string {
	w.t.Helper()
	w.write("ask.tmpl", "ask {{json .input}}")
	w.write("answer.json", answerSchema)
	text := oneStep
	if degrade {
		text += "    degrade_to: '{\"n\": -1}'\n"
	}
	return w.write("one.yaml", text)
}

// ended is what an outsider reads of a run with one step.
type ended struct {
	Status   int // exit status
	Outcome  string
	Class    string
	Kind     string
	Attempts int
	Marker   marker
	Value    string
	Calls    int // at the server
}

func TestEachWayAStepEnds(t *testing.T) {
	good := openaitest.Text(`{"n": 7}`)
	degraded := func(cause string) marker { return marker{"DEGRADED", "ask", cause} }
	failed := func(cause string) marker { return marker{"FAILED", "ask", cause} }
	for _, c := range []struct {
		name    string
		hurry   bool // the provider has a second to answer
		degrade bool
		input   string
		answers []openaitest.Answer
		want    ended
	}{
		{
			name: "a good answer is OK", answers: []openaitest.Answer{good},
			want: ended{0, "OK", "", "", 1, marker{Outcome: "OK"}, `{"n":7}`, 1},
		},
		{
			name: "a rate limit that passes is OK on the second attempt", answers: []openaitest.Answer{openaitest.TooManyRequests("1"), good},
			want: ended{0, "OK", "", "", 2, marker{Outcome: "OK"}, `{"n":7}`, 2},
		},
		{
			name: "503 for ever without degrade_to is FAILED", answers: []openaitest.Answer{openaitest.Status(503)},
			want: ended{4, "FAILED", "upstream-5xx", "provider_error", 3, failed("upstream-5xx"), "", 3},
		},
		{
			name: "503 for ever with degrade_to is DEGRADED", degrade: true, answers: []openaitest.Answer{openaitest.Status(503)},
			want: ended{3, "DEGRADED", "upstream-5xx", "provider_error", 3, degraded("upstream-5xx"), `{"n":-1}`, 3},
		},
		{
			name: "a hang is a timeout", hurry: true, degrade: true, answers: []openaitest.Answer{openaitest.Hang()},
			want: ended{3, "DEGRADED", "timeout", "network", 3, degraded("timeout"), `{"n":-1}`, 3},
		},
		{
			name: "prose where JSON was asked for is a parse failure, and tried again", degrade: true,
			answers: []openaitest.Answer{openaitest.Text("I cannot put that into JSON.")},
			want:    ended{3, "DEGRADED", "parse", "output_validation", 3, degraded("parse"), `{"n":-1}`, 3},
		},
		{
			name: "JSON that breaks the schema is not tried again", degrade: true, answers: []openaitest.Answer{openaitest.Text(`{"n": "seven"}`)},
			want: ended{3, "DEGRADED", "schema", "output_validation", 1, degraded("schema"), `{"n":-1}`, 1},
		},
		{
			name: "a truncated answer is a parse failure that is not tried again", answers: []openaitest.Answer{openaitest.Truncated(`{"n": `)},
			want: ended{4, "FAILED", "parse", "output_validation", 1, failed("parse"), "", 1},
		},
		{
			name: "a wrong key is not tried again", answers: []openaitest.Answer{openaitest.Status(401)},
			want: ended{4, "FAILED", "upstream-4xx", "auth", 1, failed("upstream-4xx"), "", 1},
		},
		{
			name: "nothing to do makes no call", input: `{"skip": true}`, answers: []openaitest.Answer{good},
			want: ended{0, "ABSTAINED", "", "", 0, marker{Outcome: "ABSTAINED"}, `{"n":0}`, 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.model.On("ask", c.answers...)
			config := w.config("")
			if c.hurry {
				config = w.write("hurried.yaml", strings.Replace(read(t, config), "timeout: 60s", "timeout: 1s", 1))
			}
			w.start(config)
			input := c.input
			if input == "" {
				input = `{"skip": false}`
			}
			r := w.run(w.oneStepFlow(c.degrade), input)
			d := r.decode(t)
			s := d.step(t, "ask")
			got := ended{r.status, d.Outcome, s.Class, s.ErrorKind, s.Attempts, *d.Marker, string(d.Values["ask"]), w.model.Calls("ask")}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a good run says of itself, to the last field that an outsider may rely on.
func TestTheStatusDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("ask", openaitest.Text(`{"n": 7}`))
	w.start(w.config(""))
	flow := w.oneStepFlow(false)
	waited := w.run(flow, `{"skip": false}`)
	d := waited.decode(t)
	want := document{
		Run: d.Run, Flow: "one", SHA: d.SHA, State: "done", Outcome: "OK", Marker: &marker{Outcome: "OK"}, Counts: counts{OK: 1},
		Steps: []step{{
			Step: "ask", Outcome: "OK", Attempts: 1, Model: openaitest.Model, Provider: "primary",
			Usage: &usage{openaitest.InputTokens, openaitest.OutputTokens}, Marker: &marker{Outcome: "OK"},
		}},
		Values: d.Values,
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(d.SHA) != 64 {
		t.Errorf("bundle_sha is %q", d.SHA)
	}
	// status and wait print the same document, byte by byte.
	for _, command := range []string{"status", "wait"} {
		if again := w.enqueue(command, d.Run, "--json"); again.stdout != waited.stdout || again.status != 0 {
			t.Errorf("%s prints another document, status %d:\n%s%s", command, again.status, again.stdout, waited.stdout)
		}
	}
	if none := w.enqueue("status", d.Run, "--json", "--values", "none").decode(t); none.Values != nil {
		t.Errorf("--values none shows %v", none.Values)
	}
	// The request asked for the schema, and with the key that there is: none.
	call := w.model.Record("ask")[0]
	if call.Key != "" || len(call.Format) == 0 {
		t.Errorf("key %q, response_format %s", call.Key, call.Format)
	}
}
