package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A provider that cuts its answer into pieces by UTF-16 may cut a character beyond U+FFFF in two: one piece ends with
// \ud83d, and the next begins with \ude00. Each half alone is no character, and decoding would replace it. So a half keeps
// its place in a text as three bytes of its own, as WTF-8 has it, until the turn joins it to the other.

const (
	halfSize   = 3             // bytes of a half in a text
	escapeSize = len(`\ud83d`) // and in JSON
	secondHalf = 0xDC00        // the least second half
)

// unquote decodes a JSON string, and keeps the halves of pairs that it does not hold whole.
func unquote(quoted []byte) (string, error) {
	if !bytes.Contains(quoted, []byte(`\ud`)) && !bytes.Contains(quoted, []byte(`\uD`)) {
		var s string
		err := json.Unmarshal(quoted, &s)
		return s, err
	}
	var text strings.Builder
	plain := []byte{'"'} // what stands before the next half, as JSON
	flush := func() error {
		var s string
		err := json.Unmarshal(append(plain, '"'), &s)
		text.WriteString(s)
		plain = plain[:1]
		return err
	}
	for rest := quoted[1 : len(quoted)-1]; len(rest) > 0; {
		half := escapedHalf(rest)
		size := 1
		switch {
		case half != 0 && utf16.DecodeRune(half, escapedHalf(rest[escapeSize:])) != utf8.RuneError:
			size = 2 * escapeSize
		case half != 0:
			if err := flush(); err != nil {
				return "", err
			}
			text.Write(encodeHalf(half))
			rest = rest[escapeSize:]
			continue
		case rest[0] == '\\':
			size = 2
		}
		plain, rest = append(plain, rest[:size]...), rest[size:]
	}
	err := flush()
	return text.String(), err
}

// escapedHalf returns the half of a pair whose escape the text begins with, or 0.
func escapedHalf(text []byte) rune {
	if len(text) < escapeSize || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:escapeSize]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(n)) {
		return 0
	}
	return rune(n)
}

func encodeHalf(r rune) []byte {
	return []byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F}
}

// decodeHalf returns the half that the text begins with, or 0.
func decodeHalf(text string) rune {
	if len(text) < halfSize || text[0] != 0xED || text[1] < 0xA0 || text[1] > 0xBF || text[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F)
}

// join makes UTF-8 of a piece of text, with the half that the piece before it has left. A half at the end waits for the
// piece that follows; one that has lost the other is replaced, and the turn is invalid.
func (t *Turn) join(piece string) string {
	if t.half == "" && utf8.ValidString(piece) {
		return piece
	}
	piece, t.half = t.half+piece, ""
	var text strings.Builder
	for piece != "" {
		half := decodeHalf(piece)
		switch {
		case half == 0:
			r, size := utf8.DecodeRuneInString(piece)
			text.WriteRune(r)
			piece = piece[size:]
			continue
		case half < secondHalf && len(piece) == halfSize:
			t.half, piece = piece, ""
			continue
		}
		whole := utf16.DecodeRune(half, decodeHalf(piece[halfSize:]))
		piece = piece[halfSize:]
		if text.WriteRune(whole); whole == utf8.RuneError {
			t.invalid = true
		} else {
			piece = piece[halfSize:]
		}
	}
	return text.String()
}

// lose gives up waiting for the other half.
func (t *Turn) lose() {
	if t.half == "" {
		return
	}
	t.half, t.invalid = "", true
	t.add(string(utf8.RuneError))
}
