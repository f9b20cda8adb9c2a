package flow

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"fourfold/content"
	"fourfold/executor"
)

// Bundles and inputs for tests of what a step does at run time.

const budgetLine = "    budget: {attempts: 1, per_attempt: 1s, total: 1s}\n"

// bundleOf loads a flow of the given steps (YAML, without budgets) and files.
func bundleOf(t testing.TB, steps string, files map[string]string) *Bundle {
	t.Helper()
	b, err := tryBundle(steps, files)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return b
}

func tryBundle(steps string, files map[string]string) (*Bundle, error) {
	var y strings.Builder
	y.WriteString("flow: f\nsteps:\n")
	for line := range strings.Lines(steps) {
		y.WriteString(line)
		if strings.HasPrefix(line, "  - id:") {
			y.WriteString(budgetLine)
		}
	}
	fsys := fstest.MapFS{"flow.yaml": {Data: []byte(y.String())}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Load(fsys, "flow.yaml")
}

// parents for the step `s` of the tests below.
const needed = `  - id: extract-text
    handler: h
  - id: tables
    handler: h
`

// exprOf returns what an expression makes of an input as the degrade_to of a step that needs extract-text and tables.
func exprOf(t testing.TB, expression string, in Inputs) (string, error) {
	t.Helper()
	quoted := "'" + strings.ReplaceAll(expression, "'", "''") + "'"
	b := bundleOf(t, needed+"  - id: s\n    needs: [extract-text, {step: tables, mode: optional}]\n    handler: h\n    degrade_to: "+quoted+"\n", nil)
	return degraded(t, b, in)
}

func degraded(t testing.TB, b *Bundle, in Inputs) (string, error) {
	t.Helper()
	bound, err := lastStep(b).Bind(in)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	v, err := bound.DegradeTo()
	return string(v.Reveal()), err
}

// textFrom returns what a template makes of an input, in the same place.
func textFrom(t testing.TB, template string, in Inputs) (string, error) {
	t.Helper()
	b := bundleOf(t, needed+"  - id: s\n    needs: [extract-text, {step: tables, mode: optional}]\n    prompt: p.tmpl\n", map[string]string{"p.tmpl": template})
	bound, err := lastStep(b).Bind(in)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	_, prompt, err := bound.Prompt()
	return prompt.Reveal(), err
}

func lastStep(b *Bundle) *Step { return b.Flow().Steps[len(b.Flow().Steps)-1] }

func jsonOf(text string) content.Of[json.RawMessage] { return content.New(json.RawMessage(text)) }

// inputsOf are an input and the value of extract-text; the optional parent tables has failed.
func inputsOf(input, extracted string) Inputs {
	return Inputs{Input: jsonOf(input), Steps: map[executor.StepID]Parent{
		executor.MustStepID("extract-text"): {Outcome: executor.OutcomeDegraded, Value: jsonOf(extracted)},
		executor.MustStepID("tables"):       {Outcome: executor.OutcomeFailed},
	}}
}

// evalError asserts that an error is an EvalError and returns it.
func evalError(t testing.TB, err error) *EvalError {
	t.Helper()
	e, ok := errors.AsType[*EvalError](err)
	if !ok {
		t.Fatalf("got error %v, want an *EvalError", err)
	}
	return e
}
