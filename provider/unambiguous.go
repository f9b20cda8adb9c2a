package provider

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unambiguous reports whether every reader of a valid JSON text reads the same: no object has a key twice, of which one reader
// takes the first and another the last, and no string escapes half of a surrogate pair, which decoding replaces in silence.
func unambiguous(value []byte) bool {
	var open []keys // the objects and arrays around the place looked at, outermost first
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{':
			open = append(open, keys{isObject: true, isNext: true})
		case '[':
			open = append(open, keys{})
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			open[len(open)-1].isNext = open[len(open)-1].isObject
		case '"':
			end := i + stringLength(value[i:])
			text := value[i:end]
			i = end - 1
			if halfPair(text) || len(open) > 0 && !open[len(open)-1].take(text) {
				return false
			}
		}
	}
	return true
}

// keys are those of one object; of an array there are none.
type keys struct {
	isObject bool
	isNext   bool // the next string is a key
	few      [][]byte
	many     map[string]bool
}

// fewKeys is how many keys are compared one by one before a map is made of them.
const fewKeys = 16

// take takes a string of the object; false: it is a key that was there before.
func (k *keys) take(text []byte) bool {
	if !k.isNext {
		return true
	}
	k.isNext = false
	if bytes.IndexByte(text, '\\') >= 0 {
		var decoded string
		_ = json.Unmarshal(text, &decoded) // it is valid
		text = []byte(decoded)
	} else {
		text = text[1 : len(text)-1]
	}
	if k.many != nil {
		if k.many[string(text)] {
			return false
		}
		k.many[string(text)] = true
		return true
	}
	if slices.ContainsFunc(k.few, func(other []byte) bool { return bytes.Equal(other, text) }) {
		return false
	}
	if k.few = append(k.few, text); len(k.few) > fewKeys {
		k.many = make(map[string]bool, 2*fewKeys)
		for _, key := range k.few {
			k.many[string(key)] = true
		}
	}
	return true
}

// stringLength returns the length of the string that a valid text begins with, its quotes included.
func stringLength(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// halfPair reports whether a valid JSON string escapes half of a surrogate pair, such as \ud83d alone.
func halfPair(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		if text = text[i+1:]; text[0] != 'u' {
			text = text[1:]
			continue
		}
		first := unit(text[1:])
		if text = text[5:]; !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(text, []byte(`\u`)) || utf16.DecodeRune(first, unit(text[2:])) == utf8.RuneError {
			return true
		}
		text = text[6:]
	}
}

// unit reads the four hexadecimal digits of an escape.
func unit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}
