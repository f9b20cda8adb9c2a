package flow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// encoded writes names and contents as encodeFiles does, in any order.
func encoded(parts ...string) []byte {
	out := []byte(magic)
	for _, p := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
	}
	return out
}

const tinyFlow = "flow: f\nsteps:\n  - {id: s, prompt: p.tmpl, system: a.tmpl, budget: {attempts: 1, per_attempt: 1s, total: 1s}}\n"

func TestDecodeTakesTheOneEncodingOnly(t *testing.T) {
	good := encoded("flow.yaml", tinyFlow, "a.tmpl", "A", "p.tmpl", "P")
	b, err := Decode(good)
	if err != nil || !bytes.Equal(b.Encode(), good) {
		t.Fatalf("the good one: %v", err)
	}
	for name, c := range map[string]struct {
		data   []byte
		reason string
	}{
		"nothing":           {nil, "another format or version"},
		"no files":          {encoded(), "no files"},
		"another version":   {bytes.Replace(good, []byte(" 1\n"), []byte(" 2\n"), 1), "another format or version"},
		"cut short":         {good[:len(good)-1], "cut short"},
		"a byte too many":   {append(bytes.Clone(good), 0), "cut short"},
		"out of order":      {encoded("flow.yaml", tinyFlow, "p.tmpl", "P", "a.tmpl", "A"), "files out of order"},
		"a file twice":      {encoded("flow.yaml", tinyFlow, "a.tmpl", "A", "a.tmpl", "A", "p.tmpl", "P"), "files out of order"},
		"the flow twice":    {encoded("flow.yaml", tinyFlow, "a.tmpl", "A", "flow.yaml", tinyFlow, "p.tmpl", "P"), "files out of order"},
		"a file too many":   {encoded("flow.yaml", tinyFlow, "a.tmpl", "A", "p.tmpl", "P", "z.tmpl", "Z"), "it has files that its flow does not name"},
		"a name that leads": {encoded("flow.yaml", tinyFlow, "../a.tmpl", "A"), "a bad file name"},
		"another spelling":  {encoded("flow.yaml", tinyFlow, "./a.tmpl", "A"), "a bad file name"},
		"a folder":          {encoded("x/flow.yaml", tinyFlow), "a bad flow file"},
		"a file missing":    {encoded("flow.yaml", tinyFlow, "a.tmpl", "A"), "it has problems"},
		"no YAML":           {encoded("flow.yaml", "{"), "it has problems"},
		"a large file":      {encoded("flow.yaml", tinyFlow, "a.tmpl", strings.Repeat("x", maxFile+1)), "too long"},
		"too large":         {append(bytes.Clone(good), make([]byte, 2*maxBundle)...), "too long"},
	} {
		b, err := Decode(c.data)
		corrupt, ok := errors.AsType[*CorruptError](err)
		if b != nil || !ok || corrupt.Reason != c.reason {
			t.Errorf("%s: got %v, %v; want %s", name, b, err, c.reason)
		}
	}
}

// A worker logs the error of Decode; prompts are no log's business.
func TestDecodeErrorsQuoteNothing(t *testing.T) {
	_, err := Decode(encoded("flow.yaml", strings.Replace(tinyFlow, "s,", "canary 4711,", 1), "a.tmpl", "{{canary}}", "p.tmpl", "{{.canary}}"))
	if err == nil || err.Error() != "flow: a bundle with 3 problems" {
		t.Errorf("got %v", err)
	}
	if corrupt, ok := errors.AsType[*CorruptError](err); !ok || len(corrupt.Problems) != 3 {
		t.Errorf("got %+v", corrupt)
	}
}

// Whatever is stored under a bundle's key is a bundle or an error, and what is taken is what would be written.
func FuzzDecode(f *testing.F) {
	f.Add(encoded("flow.yaml", tinyFlow, "a.tmpl", "A", "p.tmpl", "P"))
	f.Add(encoded("flow.yaml", "flow: f\nsteps: [{id: a, handler: h, output: o.json, degrade_to: 'map([1], {\"a\": #})'}]", "o.json", `{"$ref":"p.json"}`))
	for _, garbage := range []string{"", magic, magic + "\xff\xff\xff\xff", strings.Repeat("\x00", 64)} {
		f.Add([]byte(garbage))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data)
		if err == nil && !bytes.Equal(b.Encode(), data) {
			t.Error("taken, and written differently")
		}
	})
}

// A flow file, a template, an expression and a schema may be anything: they load or have problems.
func FuzzLoad(f *testing.F) {
	f.Add(tinyFlow, "{{.input}}", "input.a", `{"type":"string"}`)
	f.Add("a: &a [*a]\n? {b}\n: - - x\n<<: *a", "{{range 3}}{{template \"x\"}}{{end}}", `map(input, {"a": .b})`, `{"$ref":"#/a"}`)
	f.Add("- |\n  x\n\t- y: 'z", "{{define \"a\"}}{{", `let x = {"a": [1..2]}; x?.a`, `{"properties":{"a":{"type":"strng"}}}`)
	f.Fuzz(func(t *testing.T, flowFile, template, expression, schema string) {
		for _, steps := range []string{flowFile, "flow: f\nsteps:\n  - id: s\n    prompt: p.tmpl\n    output: o.json\n" + budgetLine +
			"    degrade_to: |\n      " + strings.ReplaceAll(expression, "\n", "\n      ") + "\n"} {
			b, err := Decode(encoded("flow.yaml", steps, "o.json", schema, "p.tmpl", template))
			if corrupt, ok := errors.AsType[*CorruptError](err); b == nil && (!ok || corrupt.Reason == "") {
				t.Errorf("got %v", err)
			}
			if ok := err == nil; ok {
				bound, err := lastStep(b).Bind(Inputs{Input: jsonOf(`{"a":[1,"b",null]}`)})
				if err != nil {
					t.Fatal(err)
				}
				_, _, _ = bound.Prompt()
				_, _ = bound.DegradeTo()
			}
		}
	})
}
