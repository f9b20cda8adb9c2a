package flow

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
)

// schemaStep is a step whose output schema is the file s/main.json.
func schemaStep(t testing.TB, files map[string]string) *Step {
	t.Helper()
	return lastStep(bundleOf(t, "  - id: s\n    handler: h\n    output: s/main.json\n", files))
}

func TestValidateNamesTheRuleAndNothingElse(t *testing.T) {
	const defs = `{"$defs":{"name":{"type":"string","maxLength":5}}}`
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"integer"}`, `12345678901234567890123`, ``},
		{`{"type":"number","maximum":12345678901234567890}`, `12345678901234567891`, `breaks maximum of the output schema at s/main.json#/maximum`},
		{`{"const":0.1}`, `0.10`, ``},
		{`{"required":["a"]}`, `{"canary":1}`, `breaks required of the output schema at s/main.json#/required`},
		{`{"additionalProperties":false}`, `{"canary":1}`, `breaks additionalProperties of the output schema at s/main.json#/additionalProperties`},
		{`{"additionalProperties":{"type":"string"}}`, `{"canary":1}`, `breaks type of the output schema at s/main.json#/additionalProperties/type`},
		{`{"propertyNames":{"maxLength":3}}`, `{"canary":1}`, `breaks maxLength of the output schema at s/main.json#/propertyNames/maxLength`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `breaks the output schema at s/main.json#/properties/a`},
		{`{"not":{"type":"string"}}`, `"canary"`, `breaks not of the output schema at s/main.json#`},
		{`{"anyOf":[{"type":"string"},{"minimum":5}]}`, `3`, `breaks type of the output schema at s/main.json#/anyOf/0/type`},
		{`{"oneOf":[{"type":"number"},{"minimum":1}]}`, `3`, `breaks oneOf of the output schema at s/main.json#/oneOf`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":"canary"}`, `breaks dependentRequired of the output schema at s/main.json#/dependentRequired/a`},
		{`{"enum":["a","b"]}`, `"canary"`, `breaks enum of the output schema at s/main.json#/enum`},
		{`{"pattern":"^x"}`, `"canary"`, `breaks pattern of the output schema at s/main.json#/pattern`},
		{`{"$ref":"parts.json#/$defs/name"}`, `"canary"`, `breaks maxLength of the output schema at s/parts.json#/$defs/name/maxLength`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a","canary"]`, `breaks additionalItems of the output schema at s/main.json#/additionalItems`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","contains":{"const":1}}`, `["canary"]`, `breaks const of the output schema at s/main.json#/contains/const`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}],"items":false}`, `["a","canary"]`, `breaks the output schema at s/main.json#/items`},
		{`{}`, `{"a":`, `is not one JSON value`},
		{`{}`, `1 2`, `is not one JSON value`},
		{`{}`, ``, `is not one JSON value`},
	} {
		s := schemaStep(t, map[string]string{"s/main.json": c.schema, "s/parts.json": defs})
		for range 3 { // the same error every time
			got := ""
			if err := s.Validate(json.RawMessage(c.value)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s against %s:\ngot  %s\nwant %s", c.value, c.schema, got, c.want)
			}
		}
	}
}

func TestValidationErrorsClassify(t *testing.T) {
	s := schemaStep(t, map[string]string{"s/main.json": `{"type":"string"}`})
	for value, want := range map[string]executor.FailureClass{`1`: executor.ClassSchema, `nonsense`: executor.ClassParse} {
		err := s.Validate(json.RawMessage(value))
		failing, ok := err.(executor.Failing)
		if !ok || failing.Failure().Class != want || failing.Failure().Retry != executor.RetryByClass {
			t.Errorf("%s: got %v", value, err)
		}
	}
}

func TestWithoutASchemaAnyJSONFits(t *testing.T) {
	s := lastStep(bundleOf(t, "  - id: s\n    handler: h\n", nil))
	if err := s.Validate(json.RawMessage(`{"a":[1]}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(json.RawMessage(`{"a":[1}`)); err == nil {
		t.Error("no JSON was taken")
	}
}

// Providers get one document, with the order of its keys kept and every reference within it.
func TestProvidersGetOneDocument(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"one file as it is", map[string]string{
			"s/main.json": "\ufeff{\n \"z\": 1.0, \"a\": {\"$ref\": \"#/z\"} }",
		}, `{"z":1.0,"a":{"$ref":"#/z"}}`},
		{"parts under $defs", map[string]string{
			"s/main.json":       `{"type":"object","properties":{"z":{"$ref":"parts.json#/$defs/a"},"a":{"$ref":"../t/more%20parts.json"},"$ref":{"type":"string"}}}`,
			"s/parts.json":      `{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"main.json#/properties/a"}}}`,
			"t/more parts.json": `{"enum":[{"$ref":"kept"}],"properties":{"enum":{"$ref":"#"}}}`,
		}, `{"type":"object","properties":{"z":{"$ref":"#/$defs/s_parts.json/$defs/a"},"a":{"$ref":"#/$defs/t_more_parts.json"},"$ref":{"type":"string"}},` +
			`"$defs":{"s_parts.json":{"$defs":{"a":{"$ref":"#/$defs/s_parts.json/$defs/b"},"b":{"$ref":"#/properties/a"}}},` +
			`"t_more_parts.json":{"enum":[{"$ref":"kept"}],"properties":{"enum":{"$ref":"#/$defs/t_more_parts.json"}}}}}`},
		{"beside $defs that are there", map[string]string{
			"s/main.json": `{"$defs":{"own":{"type":"string"},"s_part.json":{"type":"null"}},"$ref":"part.json","maxLength":5}`,
			"s/part.json": `true`,
		}, `{"$defs":{"own":{"type":"string"},"s_part.json":{"type":"null"},"s_part.json_":true},"$ref":"#/$defs/s_part.json_","maxLength":5}`},
		{"into empty $defs", map[string]string{
			"s/main.json": `{"$defs":{},"$ref":"part.json"}`,
			"s/part.json": `{"type":"array","items":{"$ref":"main.json"}}`,
		}, `{"$defs":{"s_part.json":{"type":"array","items":{"$ref":"#"}}},"$ref":"#/$defs/s_part.json"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := schemaStep(t, c.files)
			if diff := cmp.Diff(c.want, string(s.OutputSchema().JSON)); diff != "" {
				t.Error(diff)
			}
			if s.OutputSchema().Name != "s" {
				t.Errorf("name %q", s.OutputSchema().Name)
			}
			alone := schemaStep(t, map[string]string{"s/main.json": string(s.OutputSchema().JSON)}) // it stands on its own
			for _, value := range []string{`"text"`, `null`, `{"z":1}`, `[[]]`, `{"a":{"$ref":"kept"}}`, `{"$ref":1}`} {
				if a, b := s.Validate(json.RawMessage(value)), alone.Validate(json.RawMessage(value)); (a == nil) != (b == nil) {
					t.Errorf("%s: %v in files, %v in one document", value, a, b)
				}
			}
		})
	}
}
