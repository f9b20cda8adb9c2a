package flow

import (
	"bytes"
	"unicode/utf8"
)

// notText is what a problem says of a file with a bad byte.
const notText = "the file is not UTF-8 text"

// FirstBadByte finds the first byte that is not UTF-8; bad is false when there is none. Line and column count from 1, the
// column in characters.
func FirstBadByte(data []byte) (line, column int, bad bool) {
	if utf8.Valid(data) {
		return 0, 0, false
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	before := data[:at]
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1, true
}
