package flow

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"fourfold/provider"
)

// editorSchema is the JSON Schema that editors check flow files with.
func editorSchema(t *testing.T) (compiled *jsonschema.Schema, text []byte) {
	t.Helper()
	text, err := os.ReadFile("flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	compiled, err = jsonschema.NewCompiler().Compile("flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled, text
}

func TestTheEditorsSchemaHasTheKeysThatLoadHas(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage
	}
	var schema struct {
		object
		Definitions map[string]json.RawMessage
	}
	_, text := editorSchema(t)
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	keysOf := func(o object) []string { return slices.Sorted(maps.Keys(o.Properties)) }
	definition := func(name string) object {
		var o object
		if err := json.Unmarshal(schema.Definitions[name], &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	var need struct{ OneOf []object }
	if err := json.Unmarshal(schema.Definitions["need"], &need); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ load, schema []string }{
		"the flow": {keyNames(flowKeys), keysOf(schema.object)},
		"a step":   {keyNames(stepKeys), keysOf(definition("step"))},
		"a need":   {keyNames(needKeys), keysOf(need.OneOf[1])},
		"params":   {keyNames(paramKeys), keysOf(definition("params"))},
		"budget":   {keyNames(budgetKeys), keysOf(definition("budget"))},
		"abstain":  {keyNames(abstainKeys), keysOf(definition("abstain"))},
	} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(c.load)), c.schema); diff != "" {
			t.Errorf("keys of %s (-Load +schema):\n%s", what, diff)
		}
	}
	var step struct {
		Properties struct {
			Requires struct{ Items struct{ Enum []string } }
		}
	}
	if err := json.Unmarshal(schema.Definitions["step"], &step); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(capabilityNames(^provider.Capabilities(0)), step.Properties.Requires.Items.Enum); diff != "" {
		t.Errorf("capabilities (-provider +schema):\n%s", diff)
	}
}

// An editor accepts what Load accepts, and marks the problems that lie in the shape of the file.
func TestTheEditorsSchemaJudgesLikeLoad(t *testing.T) {
	schema, _ := editorSchema(t)
	judge := func(text string) error {
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return err
		}
		v, err := decodeExact(asJSON)
		if err != nil {
			return err
		}
		return schema.Validate(v)
	}
	for path, a := range archives(t, "testdata/good/*.txt") {
		if err := judge(a.files["flow.yaml"]); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, name := range []string{"budgets", "ids", "kinds", "params", "for_each", "empty_flow", "yaml_list"} {
		a := archives(t, "testdata/problems/"+name+".txt")["testdata/problems/"+name+".txt"]
		if err := judge(a.files["flow.yaml"]); err == nil {
			t.Errorf("%s: the schema finds nothing", name)
		}
	}
	for _, text := range []string{
		"flow: f\nsteps: [{id: a, handler: h, prompt: p, budget: {attempts: 1, per_attempt: 1s, total: 1s}}]",
		"flow: f\nsteps: [{id: a, prompt: p}]",
		"flow: f\nsteps: [{id: input, handler: h}]",
		"flow: f\nsteps: [{id: a, handler: h, chain: default}]",
		"flow: f\nsteps: [{id: a, handler: h, max_in_flight: 3}]",
		"flow: f\nsteps: [{id: a, handler: h, budget: {attempts: 0, per_attempt: 1s, total: 1s}}]",
		"flow: f\nsteps: [{id: a, handler: h, budget: {attempts: 1, per_attempt: 1, total: 1s}}]",
		"flow: f\nsteps: [{id: a, handler: h, needs: [{step: b, mode: sometimes}]}]",
		"flow: f\nsteps: [{id: a, handler: h, abstain: {on: 'true'}}]",
		"flow: f\nsteps: [{id: a, handler: h, unknown: 1}]",
		"flow: F\nsteps: [{id: a, handler: h}]",
	} {
		_, err := Decode(encoded("flow.yaml", text))
		if judge(text) == nil || err == nil {
			t.Errorf("%s: the schema says %v, Load %v", text, judge(text), err)
		}
	}
}
