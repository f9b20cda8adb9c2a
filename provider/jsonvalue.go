package provider

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// JSONValue takes the one JSON value out of an answer's text. It is lenient where that costs nothing: a byte order mark is
// dropped, one fence unwrapped, and an object or array taken out of the prose around it when it is the only one. It repairs
// nothing: a truncated value, two values, a trailing comma, a key that an object has twice, NaN, or a byte that is no UTF-8 make
// the whole text an *OutputValidationError of n, with ReasonNotJSON, or ReasonEmpty when there is no text.
func JSONValue(n Name, text string) ([]byte, error) {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
	if text == "" {
		return nil, Judge(Signal{Provider: n, Seen: SeenEmpty})
	}
	if utf8.ValidString(text) {
		if value, ok := onlyValue(text); ok && unambiguous(value) {
			return value, nil
		}
	}
	return nil, Judge(Signal{Provider: n, Seen: SeenNotJSON})
}

// onlyValue finds the one value: the whole text, the whole of a fence, or the only object or array within prose.
func onlyValue(text string) ([]byte, bool) {
	if json.Valid([]byte(text)) {
		return []byte(text), true
	}
	if inner, ok := unfence(text); ok && json.Valid([]byte(inner)) {
		return []byte(inner), true
	}
	return fromProse(text)
}

const fence = "```"

// unfence returns what a text holds that is one fenced block and nothing else.
func unfence(text string) (string, bool) {
	if strings.Count(text, fence) != 2 || !strings.HasPrefix(text, fence) || !strings.HasSuffix(text, fence) {
		return "", false
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, fence), fence)
	if first, rest, found := strings.Cut(inner, "\n"); found && isLanguage(first) {
		inner = rest
	}
	return strings.TrimSpace(inner), true
}

// isLanguage reports whether a fence's first line is its language and no part of the value.
func isLanguage(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.EqualFold(line, "json") || strings.EqualFold(line, "jsonc") || strings.EqualFold(line, "json5")
}

// fromProse takes the only object or array out of a text. Whatever else has brackets must be prose beyond doubt: a value that
// breaks off or breaks the grammar is never passed over in favour of another, least of all of one within it.
func fromProse(text string) ([]byte, bool) {
	var value []byte
	var outside strings.Builder
	for rest := text; ; {
		i := strings.IndexAny(rest, "{}[]")
		if i < 0 {
			outside.WriteString(rest)
			return value, value != nil && !isScalars(outside.String())
		}
		outside.WriteString(rest[:i])
		outside.WriteByte(' ')
		rest = rest[i:]
		switch {
		case mayBegin(rest):
			length, ok := valueLength(rest)
			if !ok || value != nil {
				return nil, false
			}
			value, rest = []byte(rest[:length]), rest[length:]
		default:
			length, ok := bracketedWords(rest)
			if !ok {
				return nil, false
			}
			outside.WriteString("words")
			rest = rest[length:]
		}
	}
}

// mayBegin reports whether the text, which begins with a bracket, could be the beginning of an object or array.
func mayBegin(text string) bool {
	inner := strings.TrimLeft(text[1:], " \t\r\n")
	switch {
	case text[0] == '}' || text[0] == ']':
		return false
	case inner == "":
		return true // cut right after the bracket
	case text[0] == '{':
		return inner[0] == '"' || inner[0] == '}'
	case strings.IndexByte(`"{[]-0123456789`, inner[0]) >= 0:
		return true
	}
	return strings.HasPrefix(inner, "true") || strings.HasPrefix(inner, "false") || strings.HasPrefix(inner, "null")
}

// valueLength returns the length of the JSON value that text begins with.
func valueLength(text string) (int, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if decoder.Decode(&raw) != nil {
		return 0, false
	}
	return int(decoder.InputOffset()), true
}

// bracketedWords returns the length of prose in brackets, such as [sic] or {name}: closed, and without brackets within.
func bracketedWords(text string) (int, bool) {
	closing := map[byte]byte{'{': '}', '[': ']'}[text[0]]
	end := strings.IndexAny(text[1:], "{}[]") + 1
	if end == 0 || text[end] != closing {
		return 0, false
	}
	return end + 1, true
}

// isScalars reports whether all that stands around a value is more values: numbers, strings and literals.
func isScalars(text string) bool {
	text = strings.TrimSpace(strings.ReplaceAll(text, ",", " "))
	decoder := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return err == io.EOF && n > 0
		}
	}
}
