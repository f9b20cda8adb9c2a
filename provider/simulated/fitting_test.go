package simulated_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fourfold/provider/simulated"
)

// schemas are what models are asked for, and what validators ask of them.
var schemas = map[string]string{
	"anything":             `{}`,
	"anything, as true":    `true`,
	"string":               `{"type":"string"}`,
	"lengths":              `{"type":"string","minLength":30,"maxLength":40}`,
	"short":                `{"type":"string","maxLength":3}`,
	"nothing":              `{"type":"string","maxLength":0}`,
	"pattern":              `{"type":"string","pattern":"^[A-Z]{2,3}-\\d+(\\.[0-9]{2})?$"}`,
	"pattern with words":   `{"type":"string","pattern":"^(low|high) risk[.!]$"}`,
	"enum":                 `{"enum":["a",2,null,{"x":1}]}`,
	"const":                `{"const":{"x":[1,"y"]}}`,
	"integers":             `{"type":"integer","minimum":3,"maximum":5}`,
	"exclusive":            `{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":5}`,
	"one number":           `{"type":"number","minimum":0.25,"maximum":0.25}`,
	"share":                `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
	"negative":             `{"type":"number","maximum":-7}`,
	"multiple":             `{"type":"integer","multipleOf":7,"minimum":20,"maximum":30}`,
	"wide":                 `{"type":"integer","minimum":-9000000000,"maximum":9000000000}`,
	"boolean":              `{"type":"boolean"}`,
	"null":                 `{"type":"null"}`,
	"nullable":             `{"type":["null","string"]}`,
	"only null of several": `{"type":["null"]}`,
	"list":                 `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":4}`,
	"empty list":           `{"type":"array","items":{"type":"integer"},"maxItems":0}`,
	"unique":               `{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`,
	"unique if there are":  `{"type":"array","items":{"enum":["a"]},"uniqueItems":true}`,
	"tuple":                `{"type":"array","prefixItems":[{"const":1},{"type":"string"}],"items":false,"minItems":2}`,
	"tuple of draft 7":     `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"const":1},{"type":"string"}],"additionalItems":false,"minItems":2}`,
	"contains":             `{"type":"array","contains":{"const":"x"}}`,
	"strict object":        `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"type":"integer"}},"required":["c"],"additionalProperties":false}},"required":["a","b"],"additionalProperties":false}`,
	"required but unsaid":  `{"type":"object","required":["a"],"additionalProperties":{"type":"integer"}}`,
	"many properties":      `{"type":"object","minProperties":3}`,
	"without a type":       `{"properties":{"a":{"minimum":3}},"required":["a"]}`,
	"formats":              `{"type":"object","properties":{"a":{"type":"string","format":"date"},"b":{"type":"string","format":"date-time"},"c":{"type":"string","format":"email"},"d":{"type":"string","format":"uri"},"e":{"type":"string","format":"uuid"},"f":{"type":"string","format":"ipv4"},"g":{"type":"string","format":"time"},"h":{"type":"string","format":"hostname"},"i":{"type":"string","format":"ipv6"},"j":{"type":"string","format":"duration"},"k":{"type":"string","format":"unheard-of"}}}`,
	"reference":            `{"$defs":{"kind":{"enum":["content","layout"]},"a/b~c":{"const":1}},"type":"object","properties":{"kind":{"$ref":"#/$defs/kind"},"x":{"$ref":"#/$defs/a~1b~0c"}},"required":["kind","x"]}`,
	"reference to itself":  `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name","children"]}`,
	"linked list":          `{"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/node"}`,
	"all of":               `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
	"any of":               `{"anyOf":[{"type":"string","minLength":40},{"type":"integer"}]}`,
	"one of":               `{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"y"}},"required":["k"]}]}`,
	"all of references":    `{"definitions":{"a":{"type":"object","properties":{"a":{"const":1}},"required":["a"]},"b":{"allOf":[{"$ref":"#/definitions/a"},{"required":["b"],"properties":{"b":{"const":2}}}]}},"$ref":"#/definitions/b"}`,
}

func compiled(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Validate(value)
}

func TestAnAnswerFitsTheSchema(t *testing.T) {
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			s, c := compiled(t, schema), client(t, "")
			for i := range 50 {
				got := told(c.Complete(t.Context(), asks("a", fmt.Sprint(i), schema)))
				if err := valid(t, s, got); err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				if len(got) > 20000 {
					t.Fatalf("%d bytes", len(got))
				}
			}
		})
	}
}

func TestABrokenAnswerIsJSONThatDoesNotFit(t *testing.T) {
	for name, schema := range schemas {
		if strings.HasPrefix(name, "anything") {
			continue // everything fits
		}
		t.Run(name, func(t *testing.T) {
			c := client(t, "rules: [{calls: [{do: break_schema}]}]")
			got := told(c.Complete(t.Context(), asks("a", "x", schema)))
			if err := valid(t, compiled(t, schema), got); err == nil {
				t.Errorf("%s fits", got)
			}
		})
	}
}

func TestASchemaThatIsNoneIsAnAnswerThatCannotBeMade(t *testing.T) {
	for _, script := range []string{"", "rules: [{calls: [{do: break_schema}]}]"} {
		if got := told(client(t, script).Complete(t.Context(), asks("a", "x", `{"type":`))); got != "provider sim: provider_error" {
			t.Error(got)
		}
	}
	if got := told(client(t, "rules: [{calls: [{do: break_schema}]}]").Complete(t.Context(), asks("a", "x", ""))); got != `{"simulated":"does not fit"}` {
		t.Error(got)
	}
}

func FuzzFitting(f *testing.F) {
	for _, schema := range schemas {
		f.Add(schema)
	}
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"$ref":"#/a/0","a":[{"$ref":"#"}]}`)
	f.Add(`{"type":"array","minItems":1e9}`)
	f.Add(`{"type":"string","minLength":1e12}`)
	f.Add(`{"minProperties":1e9}`)
	f.Add(`{"type":"string","pattern":"a{1000}{1000}"}`)
	f.Add(`{"type":"integer","minimum":-1e300,"maximum":1e300}`)
	f.Add(`{"type":"integer","multipleOf":1e-300,"minimum":5}`)
	f.Add(`{"allOf":[{"allOf":[{"allOf":[{}]}]}],"items":3,"properties":[]}`)
	c, err := simulated.New(simulated.Config{Name: name})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		got, err := c.Complete(t.Context(), asks("a", "x", schema))
		if err == nil && len(got.Text.Reveal()) > 1<<24 {
			t.Errorf("%d bytes", len(got.Text.Reveal()))
		}
	})
}
