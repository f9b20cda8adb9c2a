package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSubsetHoldsOnlyWhatItEnforces(t *testing.T) {
	strict := Subset{
		Keywords:    Words("type", "properties", "required", "additionalProperties", "items", "anyOf", "$defs", "$ref", "enum"),
		AllRequired: true, MaxDepth: 3, MaxFields: 4,
	}
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`
	}
	word := `{"type":"string"}`
	for _, c := range []struct {
		name, schema string
		want         bool
	}{
		{"closed object", object(`"a":`+word, `"a"`), true},
		{"object without properties", object("", ""), true},
		{"nested", object(`"a":`+object(`"b":`+word, `"b"`), `"a"`), true},
		{"list of objects", object(`"a":{"type":"array","items":`+object(`"b":`+word, `"b"`)+`}`, `"a"`), true},
		{"null allowed by type", object(`"a":{"type":["string","null"]}`, `"a"`), true},
		{"definitions", `{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"required":["a"],"additionalProperties":false,"$defs":{"d":` + word + `}}`, true},
		{"property not required", object(`"a":`+word, ``), false},
		{"open object", `{"type":"object","properties":{}}`, false},
		{"object open by word", `{"type":"object","properties":{},"additionalProperties":true}`, false},
		{"object open by schema", `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`, false},
		{"open object within", object(`"a":{"type":"object"}`, `"a"`), false},
		{"open object in a list", object(`"a":{"type":"array","items":{"type":"object"}}`, `"a"`), false},
		{"open object among options", object(`"a":{"anyOf":[{"type":"object"}]}`, `"a"`), false},
		{"open object in a definition", `{"type":"object","properties":{},"additionalProperties":false,"$defs":{"d":{"type":"object"}}}`, false},
		{"unknown word", object(`"a":{"type":"string","minLength":1}`, `"a"`), false},
		{"root is a list", `{"type":"array","items":` + word + `}`, false},
		{"root of several types", `{"type":["object","null"]}`, false},
		{"schema is true", `true`, false},
		{"property is true", object(`"a":true`, `"a"`), false},
		{"too deep", object(`"a":`+object(`"b":`+object(`"c":`+word, `"c"`), `"b"`), `"a"`), false},
		{"too many", object(`"a":`+word+`,"b":`+word+`,"c":`+word+`,"d":`+word+`,"e":`+word, `"a","b","c","d","e"`), false},
		{"no JSON", `{`, false},
	} {
		if got := strict.Holds(json.RawMessage(c.schema)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestBareSchemaLosesOnlyItsNames(t *testing.T) {
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"object","properties":{"b":{"$id":"y"},"a":{}}}`
	got := string(Bare(json.RawMessage(schema)))
	if strings.Contains(got, "2020-12") || strings.Contains(got, `"x"`) {
		t.Errorf("the root keeps its names: %s", got)
	}
	if !strings.Contains(got, `"properties":{"b":{"$id":"y"},"a":{}}`) {
		t.Errorf("what is within the root has changed: %s", got)
	}
	for _, same := range []string{`{"type":"object"}`, `true`, `{`} {
		if got := string(Bare(json.RawMessage(same))); got != same {
			t.Errorf("Bare(%s) = %s", same, got)
		}
	}
}

func TestCountsAreReadFromWhateverServersWrite(t *testing.T) {
	for text, want := range map[string]Count{
		`{"n":20}`: {20, true}, `{"n":20.0}`: {20, true}, `{"n":"20"}`: {20, true}, `{"n":0}`: {0, true}, `{"n":2e1}`: {20, true},
		`{"n":null}`: {}, `{}`: {}, `{"n":-1}`: {}, `{"n":1e300}`: {}, `{"n":"many"}`: {}, `{"n":[1]}`: {}, `{"n":true}`: {},
	} {
		var got struct {
			N Count `json:"n"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.N != want {
			t.Errorf("%s: %v, %v; want %v", text, got.N, err, want)
		}
	}
}
