package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/executor"
)

const tableKinds = `{"type":"array","items":{"type":"object","required":["id","kind"],
	"properties":{"id":{"type":"string"},"kind":{"enum":["content","layout"]}},"additionalProperties":false}}`

// sorting is a step with all that a step can have.
func sorting(t testing.TB) *Step {
	t.Helper()
	return lastStep(bundleOf(t, `  - id: sort
    system: system.tmpl
    prompt: prompt.tmpl
    output: kinds.json
    abstain: {on: 'len(input.tables) == 0', to: 'input.fallback ?? []'}
    degrade_to: 'map(input.tables, {"id": .id, "kind": input.kind})'
`, map[string]string{"kinds.json": tableKinds, "system.tmpl": "Sort.", "prompt.tmpl": "{{.input.tables}}"}))
}

func TestBoundAnswersForItsInputs(t *testing.T) {
	type answers struct {
		System, Prompt, AbstainTo, DegradeTo string
		Abstains                             bool
	}
	for input, want := range map[string]answers{
		`{"tables":[{"id":"a"}],"kind":"layout"}`: {
			System: "Sort.", Prompt: `[{"id":"a"}]`, AbstainTo: `[]`, DegradeTo: `[{"id":"a","kind":"layout"}]`,
		},
		`{"tables":[]}`: {System: "Sort.", Prompt: `[]`, AbstainTo: `[]`, DegradeTo: `[]`, Abstains: true},
	} {
		b, err := sorting(t).Bind(Inputs{Input: jsonOf(input)})
		if err != nil {
			t.Fatal(err)
		}
		system, prompt, err1 := b.Prompt()
		abstains, err2 := b.Abstains()
		abstainTo, err3 := b.AbstainTo()
		degradeTo, err4 := b.DegradeTo()
		got := answers{system.Reveal(), prompt.Reveal(), string(abstainTo.Reveal()), string(degradeTo.Reveal()), abstains}
		if diff := cmp.Diff(want, got); diff != "" || errors.Join(err1, err2, err3, err4) != nil {
			t.Errorf("%s: %v\n%s", input, errors.Join(err1, err2, err3, err4), diff)
		}
	}
}

// A value that the flow makes itself is held to the output schema like a model's.
func TestValuesOfExpressionsFitTheOutputSchema(t *testing.T) {
	b, err := sorting(t).Bind(Inputs{Input: jsonOf(`{"tables":[{"id":"canary-4711"}],"kind":"canary-4711","fallback":{"canary-4711":1}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() (content.Of[json.RawMessage], error){"degrade_to": b.DegradeTo, "abstain.to": b.AbstainTo} {
		v, err := ask()
		broken, ok := errors.AsType[*SchemaError](err)
		if !ok || !v.IsZero() {
			t.Fatalf("%s: got %v, want a *SchemaError and no value", name, err)
		}
		if e := evalError(t, err); e.Failure().Class != executor.ClassSchema || e.Failure().Retry != executor.RetryNo || strings.Contains(e.Error(), "canary") {
			t.Errorf("%s: %v, %+v", name, e, e.Failure())
		}
		if name == "degrade_to" && *broken != (SchemaError{"enum", "kinds.json#/items/properties/kind/enum"}) {
			t.Errorf("%s: got %+v", name, *broken)
		}
	}
}

func TestAnAbstentionThatIsNoBooleanIsAnError(t *testing.T) {
	b, err := lastStep(bundleOf(t, "  - id: s\n    handler: h\n    abstain: {on: input.flag, to: 'nil'}\n", nil)).Bind(Inputs{Input: jsonOf(`{"flag":"yes"}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Abstains()
	if e := evalError(t, err); e.Error() != "flow: step s: abstain.on (flow.yaml:6:19) is not true or false" || e.Failure().Class != executor.ClassParse {
		t.Errorf("got %v", e)
	}
}

func TestAStepWithoutTheKeysHasNothingToAnswer(t *testing.T) {
	s := lastStep(bundleOf(t, "  - id: s\n    handler: h\n", nil))
	b, err := s.Bind(Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	abstains, err := b.Abstains()
	if abstains || err != nil || s.HasAbstain() || s.HasDegrade() || s.OutputSchema() != nil {
		t.Errorf("abstains %v, %v; has %v, %v, %v", abstains, err, s.HasAbstain(), s.HasDegrade(), s.OutputSchema())
	}
	system, prompt, err := b.Prompt()
	if !system.IsZero() || !prompt.IsZero() || err != nil {
		t.Errorf("a handler has a prompt: %v", err)
	}
	for _, ask := range []func() error{
		func() error { _, err := b.AbstainTo(); return err },
		func() error { _, err := b.DegradeTo(); return err },
		func() error { _, err := b.Items(); return err },
	} {
		if err := ask(); !errors.Is(err, errNotThere) {
			t.Errorf("got %v", err)
		}
	}
}

func TestARequiredParentMustBeThere(t *testing.T) {
	b := bundleOf(t, needed+"  - id: s\n    needs: [extract-text, {step: tables, mode: always}]\n    handler: h\n    degrade_to: 'map(keys(steps), [#, steps[#].outcome, steps[#].value])'\n", nil)
	_, err := lastStep(b).Bind(Inputs{Steps: map[executor.StepID]Parent{executor.MustStepID("tables"): {Outcome: executor.OutcomeOK}}})
	if e := evalError(t, err); e.Error() != "flow: step s: steps.extract-text is required and missing" {
		t.Errorf("got %v", e)
	}
	// A parent that may be missing counts as FAILED; one that is not needed is not seen.
	got, err := degraded(t, b, Inputs{Steps: map[executor.StepID]Parent{
		executor.MustStepID("extract-text"): {Outcome: executor.OutcomeAbstained, Value: jsonOf(`[]`)},
		executor.MustStepID("stranger"):     {Outcome: executor.OutcomeOK, Value: jsonOf(`1`)},
	}})
	if want := `[["extract-text","ABSTAINED",[]],["tables","FAILED",null]]`; got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestForEachBindsItemByItem(t *testing.T) {
	s := lastStep(bundleOf(t, `  - id: s
    prompt: p.tmpl
    output: kind.json
    for_each: input.tables
    max_in_flight: 4
    on_item_failure: degrade
    abstain: {on: input.skip, to: '["none"]'}
    degrade_to: 'item.id + string(index)'
`, map[string]string{"p.tmpl": "{{.index}}/{{len .input.tables}}: {{.item}}", "kind.json": `{"type":"string"}`}))
	if diff := cmp.Diff(&ForEach{MaxInFlight: 4, DegradeFailed: true}, s.ForEach); diff != "" {
		t.Error(diff)
	}
	whole, err := s.Bind(Inputs{Input: jsonOf(`{"tables":[{"id":"a"},{"id":"b"}],"skip":true}`)})
	if err != nil {
		t.Fatal(err)
	}
	items, err := whole.Items()
	if err != nil || len(items) != 2 {
		t.Fatalf("got %d items, %v", len(items), err)
	}
	abstains, err1 := whole.Abstains()
	to, err2 := whole.AbstainTo()
	if !abstains || string(to.Reveal()) != `["none"]` || errors.Join(err1, err2) != nil {
		t.Errorf("abstains %v to %s, %v", abstains, to.Reveal(), errors.Join(err1, err2))
	}
	if _, err := whole.DegradeTo(); !errors.Is(err, errMissingItem) {
		t.Errorf("degrade_to of the whole: got %v", err)
	}
	alone, err := s.Bind(Inputs{Input: jsonOf(`{"tables":[1,2,3]}`), Item: items[1], Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bound            *Bound
		prompt, degraded string
	}{
		{whole.ForItem(0, items[0]), `0/2: {"id":"a"}`, `"a0"`},
		{whole.ForItem(1, items[1]), `1/2: {"id":"b"}`, `"b1"`},
		{alone, `1/3: {"id":"b"}`, `"b1"`},
	} {
		_, prompt, err1 := c.bound.Prompt()
		degraded, err2 := c.bound.DegradeTo()
		if prompt.Reveal() != c.prompt || string(degraded.Reveal()) != c.degraded || errors.Join(err1, err2) != nil {
			t.Errorf("got %q, %s, %v; want %q, %s", prompt.Reveal(), degraded.Reveal(), errors.Join(err1, err2), c.prompt, c.degraded)
		}
	}
}

func TestItemsAreAListOfAtMostAThousand(t *testing.T) {
	s := lastStep(bundleOf(t, "  - id: s\n    handler: h\n    for_each: input\n", nil))
	for _, c := range []struct {
		input string
		n     int
		err   error
	}{
		{`[]`, 0, nil},
		{`[` + strings.Repeat(`1,`, 999) + `1]`, 1000, nil},
		{`[` + strings.Repeat(`1,`, 1000) + `1]`, 0, errTooManyItems},
		{`{"a":1}`, 0, errNotAList},
		{`null`, 0, errNotAList},
		{`"text"`, 0, errNotAList},
		{`[1`, 0, errNotJSON},
		{``, 0, errNotJSON},
	} {
		b, err := s.Bind(Inputs{Input: jsonOf(c.input)})
		if err != nil {
			t.Fatal(err)
		}
		items, err := b.Items()
		if len(items) != c.n || !errors.Is(err, c.err) {
			t.Errorf("%.20s: got %d items, %v; want %d, %v", c.input, len(items), err, c.n, c.err)
		}
	}
}

func TestOneBundleServesManyGoroutines(t *testing.T) {
	b := sorting(t)
	shared, err := b.Bind(Inputs{Input: jsonOf(`{"tables":[{"id":"shared"}],"kind":"content"}`)})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			own, err := b.Bind(Inputs{Input: jsonOf(fmt.Sprintf(`{"tables":[{"id":"%d"}],"kind":"content"}`, i))})
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				for bound, id := range map[*Bound]string{shared: "shared", own: fmt.Sprint(i)} {
					v, err1 := bound.DegradeTo()
					_, p, err2 := bound.Prompt()
					abstains, err3 := bound.Abstains()
					if err := errors.Join(err1, err2, err3, b.Validate(v.Reveal())); err != nil || abstains ||
						!strings.Contains(string(v.Reveal()), `"`+id+`"`) || !strings.Contains(p.Reveal(), `"`+id+`"`) {
						t.Errorf("goroutine %d: %v", i, err)
					}
				}
			}
		})
	}
	all.Wait()
}
