package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/internal/openaitest"
)

// promptFlow writes a flow whose steps ask with their own names; steps is the YAML below `steps:`.
func (w *world) promptFlow(name, steps string, ids ...string) string {
	w.t.Helper()
	for _, id := range ids {
		w.write(id+".tmpl", "<"+id+"> {{json .}}")
	}
	return w.write(name+".yaml", "flow: "+name+"\nsteps:\n"+steps)
}

// quick is the budget of a step whose calls are answered at once: its times are for a machine that is busy.
const quick = "budget: {attempts: 2, per_attempt: 50s, total: 110s, backoff: 10ms}"

func TestAChainOfStepsNamesItsFirstCause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<first>", openaitest.Status(503))
	w.model.On("<second>", openaitest.Text("second"))
	w.model.On("<third>", openaitest.Text("third"))
	w.start(w.config(""))
	r := w.run(w.promptFlow("chain", fmt.Sprintf(`
  - {id: first, prompt: first.tmpl, %[1]s, degrade_to: '"instead"'}
  - {id: second, prompt: second.tmpl, %[1]s, needs: [first]}
  - {id: third, prompt: third.tmpl, %[1]s, needs: [second]}
`, quick), "first", "second", "third"), `{}`)
	d := r.decode(t)
	want := marker{"DEGRADED", "first", "upstream-5xx"}
	if r.status != 3 || d.Outcome != "DEGRADED" || *d.Marker != want || d.Counts != (counts{OK: 2, Degraded: 1}) {
		t.Errorf("status %d, %+v", r.status, d)
	}
	// Every step after the degraded one is OK by itself and carries the marker.
	for _, id := range []string{"second", "third"} {
		if s := d.step(t, id); s.Outcome != "OK" || *s.Marker != want {
			t.Errorf("%s: %s, marker %+v", id, s.Outcome, s.Marker)
		}
	}
	if calls := []int{w.model.Calls("<first>"), w.model.Calls("<second>"), w.model.Calls("<third>")}; !cmp.Equal(calls, []int{2, 1, 1}) {
		t.Errorf("calls %v", calls)
	}
	if diff := cmp.Diff(map[string]string{"third": `"third"`}, values(d)); diff != "" {
		t.Errorf("values of sinks (-want +got):\n%s", diff)
	}
	all := w.enqueue("status", d.Run, "--json", "--values", "all").decode(t)
	if diff := cmp.Diff(map[string]string{"first": `"instead"`, "second": `"second"`, "third": `"third"`}, values(all)); diff != "" {
		t.Errorf("all values (-want +got):\n%s", diff)
	}
}

func values(d document) map[string]string {
	texts := map[string]string{}
	for id, v := range d.Values {
		texts[id] = string(v)
	}
	return texts
}

func TestAFanInWithOneDegradedParentIsDegraded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"left", "right"} {
		w.model.On("<"+id+">", openaitest.Text(id))
	}
	w.model.On("<middle>", openaitest.Text("broken"), openaitest.Status(500))
	w.model.On("<middle>", openaitest.Status(500))
	w.model.On("<join>", openaitest.Text("joined"))
	w.start(w.config(""))
	r := w.run(w.promptFlow("fan", fmt.Sprintf(`
  - {id: left, prompt: left.tmpl, %[1]s}
  - {id: middle, prompt: middle.tmpl, %[1]s, degrade_to: '"instead"'}
  - {id: right, prompt: right.tmpl, %[1]s}
  - {id: join, prompt: join.tmpl, %[1]s, needs: [left, middle, right]}
`, quick), "left", "middle", "right", "join"), `{}`)
	d := r.decode(t)
	if want := (marker{"DEGRADED", "middle", "upstream-5xx"}); r.status != 3 || *d.Marker != want || *d.step(t, "join").Marker != want {
		t.Errorf("status %d, %+v", r.status, d)
	}
	if d.Counts != (counts{OK: 3, Degraded: 1}) || w.model.Calls("<join>") != 1 {
		t.Errorf("counts %+v, %d calls of join", d.Counts, w.model.Calls("<join>"))
	}
}

func TestAFailedStepSkipsWhatRequiresItAndAnOptionalOneDoesNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<bad>", openaitest.Status(404))
	w.model.On("<good>", openaitest.Text("good"))
	w.model.On("<takes>", openaitest.Text("taken"))
	w.start(w.config(""))
	required := w.run(w.promptFlow("required", fmt.Sprintf(`
  - {id: bad, prompt: bad.tmpl, %[1]s}
  - {id: takes, prompt: takes.tmpl, %[1]s, needs: [bad]}
`, quick), "bad", "takes"), `{}`)
	d := required.decode(t)
	if s := d.step(t, "takes"); !s.Skipped || s.Outcome != "FAILED" || s.Cause != "dependency" || s.Attempts != 0 {
		t.Errorf("required: %+v", s)
	}
	if required.status != 4 || d.Counts != (counts{Failed: 1, Skipped: 1}) || *d.Marker != (marker{"FAILED", "bad", "upstream-4xx"}) || d.Values != nil {
		t.Errorf("required: status %d, %+v", required.status, d)
	}
	optional := w.run(w.promptFlow("optional", fmt.Sprintf(`
  - {id: bad, prompt: bad.tmpl, %[1]s}
  - {id: good, prompt: good.tmpl, %[1]s}
  - {id: takes, prompt: takes.tmpl, %[1]s, needs: [good, {step: bad, mode: optional}]}
`, quick), "bad", "good", "takes"), `{}`)
	d = optional.decode(t)
	if optional.status != 3 || *d.Marker != (marker{"DEGRADED", "bad", "upstream-4xx"}) || d.step(t, "takes").Outcome != "OK" {
		t.Errorf("optional: status %d, %+v", optional.status, d)
	}
}

// The demo's flow on a real Redis: a document without tables, and the stock handler.
func TestADocumentWithoutTablesAbstainsForThatStepAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("For each table", openaitest.Text(`{"tables": []}`))
	w.model.On("one role", openaitest.Text(`{"blocks": [{"id": "b1", "role": "heading"}]}`))
	w.model.On("Summarise", openaitest.Text(`{"summary": "Nothing to see."}`))
	w.start(w.config(""))
	r := w.run("../../examples/document-intake/flow.yaml",
		`{"id": "memo", "title": "Memo", "tables": [], "blocks": [{"id": "b1", "text": "Memo"}]}`)
	d := r.decode(t)
	s := d.step(t, "classify-tables")
	if s.Outcome != "ABSTAINED" || s.Attempts != 0 || s.Usage != nil || w.model.Calls("For each table") != 0 {
		t.Errorf("classify-tables: %+v, %d calls", s, w.model.Calls("For each table"))
	}
	if r.status != 0 || d.Outcome != "OK" || d.Counts != (counts{OK: 3, Abstained: 1}) {
		t.Errorf("status %d, %+v", r.status, d)
	}
	if got := string(d.Values["summarise"]); got != `{"summary":"Nothing to see."}` {
		t.Errorf("summarise = %s", got)
	}
}
