package flow_test

import (
	"encoding/json"
	"fmt"
	"testing/fstest"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
)

// A bundle of one flow file and one prompt. Programs load theirs from a folder, by os.OpenRoot and its FS.
var files = fstest.MapFS{
	"flow.yaml": {Data: []byte(`
flow: summaries
steps:
  - id: summarise
    needs: [extract]
    prompt: summarise.tmpl
    budget: {attempts: 3, per_attempt: 20s, total: 60s}
    abstain: {on: 'steps.extract.value == ""', to: '""'}
    degrade_to: 'steps.extract.value[:14]'
  - id: extract
    handler: extract
`)},
	"summarise.tmpl": {Data: []byte(`Summarise in {{.input.language}}: {{.steps.extract.value}}`)},
}

func Example() {
	bundle, err := flow.Load(files, "flow.yaml")
	if err != nil {
		fmt.Println(err) // every problem, with its place
		return
	}
	for _, s := range bundle.Flow().Steps {
		fmt.Println(s.Index, s.ID, s.Budget.Attempts)
	}

	summarise, _ := bundle.Flow().Step(executor.MustStepID("summarise"))
	bound, err := summarise.Bind(flow.Inputs{
		Input: content.New(json.RawMessage(`{"language": "English"}`)),
		Steps: map[executor.StepID]flow.Parent{
			executor.MustStepID("extract"): {Outcome: executor.OutcomeOK, Value: content.New(json.RawMessage(`"It was a bright cold day in April."`))},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	abstains, _ := bound.Abstains()
	_, prompt, _ := bound.Prompt()
	degraded, _ := bound.DegradeTo()
	fmt.Println(abstains)
	fmt.Println(prompt, prompt.Reveal())
	fmt.Println(string(degraded.Reveal()))
	// Output:
	// 0 extract 3
	// 1 summarise 3
	// false
	// [content] Summarise in English: It was a bright cold day in April.
	// "It was a brigh"
}

func ExampleProblems() {
	_, err := flow.Load(fstest.MapFS{
		"flow.yaml": {Data: []byte(`flow: summaries
steps:
  - id: summarise
    needs: [extrakt]
    promt: summarise.tmpl
    handler: summarise
    degrade_to: 'steps.extract.value'
  - id: extract
    handler: extract
`)},
	}, "flow.yaml")
	fmt.Println(err)
	// Output:
	// flow.yaml:4:13: there is no step "extrakt"; did you mean "extract"?
	// flow.yaml:5:5: a step has no key "promt"; did you mean "prompt"?
	// flow.yaml:7:24: degrade_to: step "extract" is not in the needs of "summarise"
}

func ExampleFlow_Check() {
	bundle, err := flow.Load(files, "flow.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bundle.Flow().Check(flow.Offer{Handlers: map[string]bool{"extract": true}}))
	// Output:
	// flow summaries cannot run with this configuration: step summarise needs the chain "default"; the configuration has none
}
