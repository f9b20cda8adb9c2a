package tasks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/tasks"
)

const chainFlow = "flow: three\nsteps:\n"

func threeSteps(degrade string) string {
	return chainFlow + step("one", degrade) + step("two", "    needs: [one]\n") + step("three", "    needs: [two]\n")
}

// public is the status document with what differs from run to run taken out.
func public(t *testing.T, s tasks.Status) string {
	t.Helper()
	for i := range s.Steps {
		s.Steps[i].Latency = 0
	}
	doc, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	out := strings.ReplaceAll(string(doc), s.Run.String(), "RUN")
	return strings.ReplaceAll(out, s.BundleSHA.String(), "SHA")
}

func lifeAChainEndsOKWithItsValues(t *testing.T, f *fleet) {
	m := newModel(func(context.Context, string, int) (string, error) { return "7", nil })
	f.worker(m, nil)
	got := public(t, f.wait(f.submit(bundle(t, threeSteps("")), `{"n":1}`)))
	stepDoc := func(id string) string {
		return `{"step":"` + id + `","outcome":"OK","attempts":1,"latency_ms":0,"model_version":"stub-1","prompt_bundle_sha":"SHA","provider":"stub","token_usage":{"input":10,"output":5},"marker":{"outcome":"OK"}}`
	}
	want := `{"run":"RUN","flow":"three","bundle_sha":"SHA","state":"done","outcome":"OK","marker":{"outcome":"OK"},` +
		`"counts":{"ok":3,"degraded":0,"abstained":0,"failed":0,"skipped":0},"steps":[` + stepDoc("one") + `,` + stepDoc("two") + `,` + stepDoc("three") +
		`],"values":{"one":7,"three":7,"two":7}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func lifeADegradedFirstStepNamesTheRun(t *testing.T, f *fleet) {
	m := newModel(func(_ context.Context, step string, _ int) (string, error) {
		if step == "one" {
			return "", sickness()
		}
		return "7", nil
	})
	f.worker(m, nil)
	s := f.wait(f.submit(bundle(t, threeSteps("    degrade_to: '0'\n")), `{"n":1}`))
	want := tasks.Marker{Outcome: executor.OutcomeDegraded, Step: executor.MustStepID("one"), Cause: tasks.CauseUpstream5xx}
	if diff := cmp.Diff(want, s.Marker, cmp.AllowUnexported(executor.StepID{})); diff != "" {
		t.Errorf("marker (-want +got):\n%s", diff)
	}
	for _, st := range s.Steps {
		if st.Marker != want {
			t.Errorf("step %s carries %v", st.Step, st.Marker)
		}
	}
	if n := m.count("one"); n != 2 {
		t.Errorf("calls of the degraded step = %d, want its two attempts", n)
	}
}

func lifeAFailedStepSkipsWhatRequiresIt(t *testing.T, f *fleet) {
	m := newModel(func(context.Context, string, int) (string, error) { return "", sickness() })
	f.worker(m, nil)
	s := f.wait(f.submit(bundle(t, threeSteps("")), `1`))
	if s.Outcome != executor.OutcomeFailed || s.Counts != (tasks.Counts{Failed: 1, Skipped: 2}) || len(s.Values) != 0 {
		t.Errorf("outcome %v, counts %+v, %d values", s.Outcome, s.Counts, len(s.Values))
	}
	if s.Steps[2].Cause != tasks.CauseDependency || m.total() != 2 {
		t.Errorf("last step's cause %v, calls %d", s.Steps[2].Cause, m.total())
	}
}

func lifeItemsAreJoinedInOrder(t *testing.T, f *fleet) {
	m := newModel(nil)
	m.reply = func(prompt string) (string, error) { // ten times the item
		if item, ok := strings.CutPrefix(prompt, "Item: "); ok {
			return item + "0", nil
		}
		return "3", nil
	}
	f.worker(m, nil)
	yaml := "flow: items\nsteps:\n" + strings.Replace(step("each", "    for_each: input.list\n    max_in_flight: 2\n"), "p.tmpl", "item.tmpl", 1) + step("sum", "    needs: [each]\n")
	b := bundle(t, yaml)
	s := f.wait(f.submit(b, `{"list":[1,2,3,4,5]}`))
	if got := string(s.Values[executor.MustStepID("each")].Reveal()); got != "[10,20,30,40,50]" {
		t.Errorf("joined value = %s", got)
	}
	if s.Outcome != executor.OutcomeOK || m.count("each") != 5 || s.Steps[0].Attempts != 5 {
		t.Errorf("outcome %v, calls %d, attempts %d", s.Outcome, m.count("each"), s.Steps[0].Attempts)
	}
	s = f.wait(f.submit(b, `{"list":[]}`))
	if s.Steps[0].Outcome != executor.OutcomeAbstained || s.Outcome != executor.OutcomeOK {
		t.Errorf("empty list: step %v, run %v", s.Steps[0].Outcome, s.Outcome)
	}
}
