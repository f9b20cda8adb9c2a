package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"unicode/utf8"

	"fourfold/executor"
)

// Marshal writes JSON as it is sent: without the escapes that are meant for HTML pages.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// Unmarshal reads JSON into v. False in broken: data is JSON, but some field has another type than v gives it; the fields
// that fit are set nevertheless.
func Unmarshal(data []byte, v any) (ok, broken bool) {
	err := json.Unmarshal(data, v)
	if err == nil {
		return true, false
	}
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return false, !mistyped
}

// Has says whether a JSON object has a field of that name, be it null.
func Has(data []byte, name string) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return false
	}
	_, ok := fields[name]
	return ok
}

// Set says whether a field was there and says something.
func Set(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// Count is a number of tokens, which some servers write as 20.0 or "20". Whatever is no count stays unknown.
type Count struct {
	N     int64
	Known bool
}

// UnmarshalJSON never fails: a count that cannot be read must not cost an answer.
func (c *Count) UnmarshalJSON(data []byte) error {
	var n float64
	if json.Unmarshal(bytes.Trim(data, `"`), &n) == nil && n >= 0 && n < math.MaxInt32 && !bytes.Equal(data, []byte("null")) {
		*c = Count{int64(n), true}
	}
	return nil
}

// Usage is what counts of input and output say: unknown when neither is known.
func Usage(input, output Count) executor.Usage {
	if !input.Known && !output.Known {
		return executor.Usage{}
	}
	return executor.Tokens(input.N, output.N)
}

// Text is a content field as providers write it: a text, a list of parts, null, or nothing. S is meant for Turn.Say: it may
// hold half a character (halves.go).
type Text struct{ S string }

// UnmarshalJSON keeps the texts of a list and drops parts of other types (reasoning, references, pictures).
func (t *Text) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		if inner := data[1 : len(data)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			t.S = string(inner) // most pieces of a stream; a decoder of its own would cost more than all the rest
			return nil
		}
		var err error
		t.S, err = unquote(data)
		return err
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text Text   `json:"text"`
		}
		_, _ = Unmarshal(data, &parts) // parts that are no parts stay empty
		for _, p := range parts {
			if p.Type == "" || p.Type == "text" || p.Type == "output_text" {
				t.S += p.Text.S
			}
		}
	}
	return nil
}
