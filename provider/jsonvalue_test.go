package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"fourfold/provider"
)

const label = `{"label":"content","confidence":0.9}`

var texts = []struct {
	name, text string
	want       string // "": refused
}{
	{"object", label, label},
	{"array", "[1,2]", "[1,2]"},
	{"string", `"plain"`, `"plain"`},
	{"number", "-1.5e3", "-1.5e3"},
	{"literal", "null", "null"},
	{"space around", " \n\t" + label + "\r\n", label},
	{"byte order mark", "\ufeff" + label, label},
	{"byte order mark and space", " \ufeff\n" + label, label},
	{"fence with its language", "```json\n" + label + "\n```", label},
	{"fence in capitals", "```JSON\n" + label + "\n```\n", label},
	{"fence without a language", "```\n" + label + "\n```", label},
	{"fence around a scalar", "```json\n42\n```", "42"},
	{"fence in one line", "```" + label + "```", label},
	{"fence that never closes", "```json\n" + label, label},
	{"fence within prose", "Here you are:\n```json\n" + label + "\n```\nAnything else?", label},
	{"fence in a string", `{"code":"` + "```x```" + `"}`, `{"code":"` + "```x```" + `"}`},
	{"words before", "The answer is " + label, label},
	{"words after", label + " as you asked.", label},
	{"words around, with numbers and quotes", `I found 2 "tables": ` + label + ` (of 3).`, label},
	{"words in brackets", "As asked [sic] for {name}: " + label, label},
	{"nested", `{"a":[{"b":{}}],"c":"}]"}`, `{"a":[{"b":{}}],"c":"}]"}`},
	{"escapes", `{"a":"\ud83d\ude00 \\u00e9 é"}`, `{"a":"\ud83d\ude00 \\u00e9 é"}`},
	{"same key in different objects", `[{"a":1},{"a":{"a":2}}]`, `[{"a":1},{"a":{"a":2}}]`},
	{"large number", `{"n":123456789012345678901234567890}`, `{"n":123456789012345678901234567890}`},
	{"prose", "I cannot say.", ""},
	{"prose with a number", "The answer is 42", ""},
	{"truncated object", `{"label":"con`, ""},
	{"truncated around a whole one", `{"a":{"b":1}`, ""},
	{"truncated array of whole objects", `[{"b":1},{"b":2}`, ""},
	{"truncated within prose", `Here: {"a":{"b":1}, "c":`, ""},
	{"nothing but an opening", "{", ""},
	{"truncated fence", "```json\n{\"a\":1\n```", ""},
	{"two objects", `{"a":1} {"b":2}`, ""},
	{"two lines", "{\"a\":1}\n{\"a\":1}", ""},
	{"two fences", "```json\n{}\n```\n```json\n{}\n```", ""},
	{"value and scalar", `{"a":1} 5`, ""},
	{"scalar and value", `"x", {"a":1}`, ""},
	{"two scalars", "1 2", ""},
	{"value and reference", `{"a":1} see [1]`, ""},
	{"brackets that do not match", `[as} asked: {"a":1}`, ""},
	{"value within brackets of words", `{see {"a":1}}`, ""},
	{"stray closing", `{"a":1}}`, ""},
	{"stray closing of the other sort", `{"a":1}]`, ""},
	{"trailing comma", `{"a":1,}`, ""},
	{"trailing comma after a whole one", `{"a":{"b":1},}`, ""},
	{"trailing comma in an array", `[1,2,]`, ""},
	{"comment", "{\"a\":1 /* one */}", ""},
	{"single quotes", `{'a':1}`, ""},
	{"single quotes around a whole one", `{'a':{"b":1}}`, ""},
	{"NaN", `{"label":"content","confidence":NaN}`, ""},
	{"NaN in an array", `[NaN,{"a":1}]`, ""},
	{"Infinity", `{"a":Infinity}`, ""},
	{"minus Infinity", `{"a":-Infinity}`, ""},
	{"None", `{"a":None}`, ""},
	{"leading zero", `{"a":01}`, ""},
	{"line break in a string", "{\"a\":\"x\ny\"}", ""},
	{"key twice", `{"a":1,"b":2,"a":3}`, ""},
	{"key twice, deep", `{"x":[{"y":{"a":1,"a":1}}]}`, ""},
	{"key twice, escaped", `{"a":1,"\u0061":2}`, ""},
	{"key twice after an object", `{"a":{},"a":{}}`, ""},
	{"key twice among many", `{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"kf":0,"kg":0,"kh":0,"k0":1}`, ""},
	{"key twice among many, late", `{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"kf":0,"kg":0,"kh":0,"kh":1}`, ""},
	{"key as a value", `{"a":"b","b":"a","c":["a","b","b"]}`, `{"a":"b","b":"a","c":["a","b","b"]}`},
	{"quotes and backslashes", `{"a\\":"\"","a\"":"\\","\\":1}`, `{"a\\":"\"","a\"":"\\","\\":1}`},
	{"no UTF-8 in a string", "{\"a\":\"\xff\"}", ""},
	{"no UTF-8 in the prose", "\xff {\"a\":1}", ""},
	{"half of a pair", `{"a":"\ud83d"}`, ""},
	{"other half of a pair", `{"a":"\ude00x"}`, ""},
	{"two first halves", `{"a":"\ud83d\ud83d"}`, ""},
	{"half of a pair as a key", `{"\ud83d":1}`, ""},
	{"too deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), ""},
}

func TestJSONValueIsLenientWhereItCostsNothingAndRepairsNothing(t *testing.T) {
	for _, c := range texts {
		t.Run(c.name, func(t *testing.T) {
			got, err := provider.JSONValue(provider.MustName("primary"), c.text)
			if c.want != "" {
				if err != nil || string(got) != c.want {
					t.Errorf("%s, %v; want %s", got, err, c.want)
				}
				return
			}
			e, ok := errors.AsType[*provider.OutputValidationError](err)
			if !ok || got != nil || says(e) != "output_validation/not_json next:no again:yes parse" || e.Provider() != provider.MustName("primary") {
				t.Errorf("%s, %v; want it refused", got, err)
			}
		})
	}
}

func TestATextWithoutAnythingIsEmpty(t *testing.T) {
	for _, text := range []string{"", " \n\t", "\ufeff"} {
		_, err := provider.JSONValue(provider.Name{}, text)
		if e, ok := provider.AsError(err); !ok || says(e) != "output_validation/empty next:no again:yes parse" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzJSONValue(f *testing.F) {
	for _, c := range texts {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := provider.JSONValue(provider.Name{}, text)
		if err != nil {
			return
		}
		if !json.Valid(got) || !utf8.Valid(got) || !strings.Contains(text, string(got)) || bytes.TrimSpace(got)[0] != got[0] {
			t.Errorf("%q from %q", got, text)
		}
		if !uniqueKeys(got) {
			t.Errorf("%q has a key twice", got)
		}
		again, err := provider.JSONValue(provider.Name{}, string(got))
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%q is no value any more: %q, %v", got, again, err)
		}
		if _, err := provider.JSONValue(provider.Name{}, string(got)+" "+string(got)); err == nil {
			t.Errorf("twice %q is one value", got)
		}
	})
}

// uniqueKeys is another way to look for keys that an object has twice: by the standard library's tokens.
func uniqueKeys(value []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(value))
	var walk func() bool
	walk = func() bool {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		unique, keys := true, map[string]bool{}
		for ; decoder.More() && (token == json.Delim('{') || token == json.Delim('[')); unique = walk() && unique {
			if token == json.Delim('{') {
				key, _ := decoder.Token()
				name, _ := key.(string)
				unique = unique && !keys[name]
				keys[name] = true
			}
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			_, _ = decoder.Token() // the end
		}
		return unique
	}
	return walk()
}

func TestKeysAreFoundTwiceBothWays(t *testing.T) {
	for _, c := range texts {
		if !json.Valid([]byte(c.text)) || strings.Contains(c.name, "half") || strings.Contains(c.name, "halves") {
			continue
		}
		if _, err := provider.JSONValue(provider.Name{}, c.text); uniqueKeys([]byte(c.text)) != (err == nil) && utf8.ValidString(c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
