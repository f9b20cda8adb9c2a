package simulated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// prose is an answer in words where JSON was asked for.
const prose = "simulated prose: here is in words, and not as JSON, what was asked for."

// refusal is what a model says that declines.
const refusal = "simulated refusal"

// write makes the text of the answer, or of what would have been the answer.
func (t *turn) write() (err error) {
	b := t.behaviour
	switch b.Do {
	case Malformed:
		t.answer = prose
	case Refuse:
		t.answer = refusal
	case BreakSchema:
		t.answer, err = t.misfit()
	case Answer, Truncated, Hang, Reset:
		t.answer, err = t.good()
	case RateLimit, Status, Empty:
	}
	if b.Do == Truncated {
		t.answer = strings.ToValidUTF8(t.answer[:len(t.answer)/2], "")
	}
	return err
}

// good makes an answer: the script's own, a value that fits the schema, or a sentence.
func (t *turn) good() (string, error) {
	b := t.behaviour
	switch {
	case b.JSON != nil:
		return toJSON(b.JSON)
	case b.Text != nil:
		return *b.Text, nil
	case b.Template != "":
		return t.fill()
	case t.req.Output == nil:
		return fmt.Sprintf("simulated answer %04x for step %s.", t.input&0xffff, t.req.Step), nil
	}
	return fitting(t.req.Output.JSON, t.input)
}

func (t *turn) fill() (string, error) {
	tmpl, err := t.behaviour.compile()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, map[string]any{"Doc": t.largest, "Docs": t.docs, "Step": t.req.Step.String(), "Call": t.call})
	return out.String(), err
}

// misfit makes a JSON value that breaks the request's schema: a good one with something missing if that will do, else a value of
// another type. A schema that everything fits, and a request without one, get an object all the same.
func (t *turn) misfit() (string, error) {
	const plain = `{"simulated":"does not fit"}`
	if t.req.Output == nil {
		return plain, nil
	}
	fit, err := compileSchema(t.req.Output.JSON)
	if err != nil {
		return "", err
	}
	good, err := fitting(t.req.Output.JSON, t.input)
	if err != nil {
		return "", err
	}
	for _, candidate := range append(damaged(good), plain, `["simulated"]`, `"simulated"`, `-1.5`, `null`) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(candidate))
		if err == nil && fit.Validate(value) != nil {
			return candidate, nil
		}
	}
	return plain, nil
}

func compileSchema(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("simulated.json", doc); err != nil {
		return nil, err
	}
	return compiler.Compile("simulated.json")
}

// damaged returns copies of an object or array, each with one part less.
func damaged(good string) []string {
	var copies []string
	keep := func(v any) {
		if text, err := toJSON(v); err == nil {
			copies = append(copies, text)
		}
	}
	var object map[string]json.RawMessage
	var array []json.RawMessage
	switch {
	case json.Unmarshal([]byte(good), &object) == nil:
		for _, key := range sorted(object) {
			value := object[key]
			delete(object, key)
			keep(object)
			object[key] = value
		}
	case json.Unmarshal([]byte(good), &array) == nil && len(array) > 0:
		for _, less := range damaged(string(array[0])) {
			keep(append([]json.RawMessage{json.RawMessage(less)}, array[1:]...))
		}
		keep(array[1:])
	}
	return copies
}
