package simulated_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/provider/simulated"
)

func TestAScriptIsReadWhole(t *testing.T) {
	got, err := simulated.Parse([]byte(`
latency: 40ms
pace: 5ms
rules:
  - step: classify-tables
    contains: invoice 17
    calls:
      - {do: rate_limit, retry_after: 1s}
      - {latency: 200ms, json: {kind: content, n: [1, 2.5, null]}}
  - where: {document.id: doc-09, pages: 3}
    calls: [{do: status, status: 503}, {do: hang, after: 2}, {do: reset}, {do: malformed}, {do: truncated}]
  - calls: [{do: break_schema}, {do: refuse}, {do: empty}, {text: plain}, {template: 'call {{.Call}}'}]
`))
	if err != nil {
		t.Fatal(err)
	}
	second, fast, plain := time.Second, 200*time.Millisecond, "plain"
	want := simulated.Script{
		Latency: 40 * time.Millisecond,
		Pace:    5 * time.Millisecond,
		Rules: []simulated.Rule{
			{Step: "classify-tables", Contains: "invoice 17", Calls: []simulated.Behaviour{
				{Do: simulated.RateLimit, RetryAfter: &second},
				{Latency: &fast, JSON: map[string]any{"kind": "content", "n": []any{uint64(1), 2.5, nil}}},
			}},
			{Where: map[string]any{"document.id": "doc-09", "pages": uint64(3)}, Calls: []simulated.Behaviour{
				{Do: simulated.Status, Status: 503}, {Do: simulated.Hang, After: 2}, {Do: simulated.Reset}, {Do: simulated.Malformed}, {Do: simulated.Truncated},
			}},
			{Calls: []simulated.Behaviour{
				{Do: simulated.BreakSchema}, {Do: simulated.Refuse}, {Do: simulated.Empty}, {Text: &plain}, {Template: "call {{.Call}}"},
			}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if empty, err := simulated.Parse(nil); err != nil || !cmp.Equal(empty, simulated.Script{}) {
		t.Errorf("an empty script: %v, %v", empty, err)
	}
}

func TestAScriptThatMakesNoSenseIsRefused(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"rules: [{stp: x}]", "unknown field"},
		{"latency: soon", "invalid duration"},
		{"rules: [{step: No Step}]", "rule 1"},
		{"rules: [{calls: [{do: dance}]}]", "unknown action"},
		{"rules: [{}, {calls: [{}, {json: 1, text: x}]}]", "rule 2, call 2: more than one of json, text and template"},
		{"rules: [{calls: [{do: refuse, text: x}]}]", "refuse gives no answer of its own"},
		{"rules: [{calls: [{do: status, status: 200}]}]", "status is 400 to 599"},
		{"rules: [{calls: [{status: 503}]}]", "goes with do: status"},
		{"rules: [{calls: [{retry_after: 1s}]}]", "retry_after goes with"},
		{"rules: [{calls: [{do: hang, after: -1}]}]", "after is"},
		{"rules: [{calls: [{after: 1}]}]", "after is"},
		{"rules: [{calls: [{template: '{{.Doc'}]}]", "rule 1, call 1"},
		{"rules: [", "[1:"},
	} {
		if _, err := simulated.Parse([]byte(c.script)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
}

func TestActionsReadWhatTheyWrite(t *testing.T) {
	var all []string
	for a := simulated.Answer; a.String() != "invalid"; a++ {
		text, err := a.MarshalText()
		var back simulated.Action
		if err != nil || back.UnmarshalText(text) != nil || back != a {
			t.Errorf("%v read back as %v", a, back)
		}
		all = append(all, a.String())
	}
	const want = "answer rate_limit status hang reset malformed truncated break_schema refuse empty"
	if got := strings.Join(all, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
