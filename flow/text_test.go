package flow

import "testing"

func TestTheFirstBadByteIsFound(t *testing.T) {
	for text, want := range map[string][2]int{
		"":                        {},
		"größer\n😀\n":             {},
		"\ufffd":                  {}, // a replacement character is text
		"\xff":                    {1, 1},
		"größer\xe9":              {1, 7},
		"a\r\nb\nü\xc3 \xff":      {3, 2}, // half a character
		"a\n\xed\xa0\xbd\n":       {2, 1}, // half a pair of UTF-16
		"line\n\xf0\x9f\x98":      {2, 1}, // cut
		"one\ntwo\n\n  key: \x80": {4, 8},
	} {
		line, column, bad := FirstBadByte([]byte(text))
		if got := [2]int{line, column}; got != want || bad != (want != [2]int{}) {
			t.Errorf("%q: %v, %t; want %v", text, got, bad, want)
		}
	}
}
