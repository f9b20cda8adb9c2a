package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// say puts pieces, as they stand in JSON, into a turn.
func say(t *testing.T, pieces ...string) *Turn {
	t.Helper()
	turn := &Turn{}
	for _, p := range pieces {
		var text Text
		if err := json.Unmarshal([]byte(`"`+p+`"`), &text); err != nil {
			t.Fatal(err)
		}
		turn.Say(text.S)
	}
	turn.End(Stopped)
	return turn
}

func TestHalvesOfACharacterMeetWhereverItIsCut(t *testing.T) {
	for _, c := range []struct {
		name    string
		pieces  []string
		want    string
		invalid bool
	}{
		{"whole", []string{`a\ud83d\ude00b`}, "a😀b", false},
		{"capital letters", []string{`\uD83D`, `\uDE00`}, "😀", false},
		{"between two pieces", []string{`a\ud83d`, `\ude00b`}, "a😀b", false},
		{"with nothing between", []string{`\ud83d`, ``, `\ude00`}, "😀", false},
		{"two in a row", []string{`\ud83d`, `\ude00\ud83d`, `\ude01`}, "😀😁", false},
		{"beside other escapes", []string{`\"\\\u00e9\n\ud83d`, `\ude00\\ud83d`}, "\"\\é\n😀\\ud83d", false},
		{"the first alone", []string{`\ud83d`, `b`}, "�b", true},
		{"the second alone", []string{`a`, `\ude00`}, "a�", true},
		{"the first at the end", []string{`a`, `b\ud83d`}, "ab�", true},
		{"the first twice", []string{`\ud83d`, `\ud83d`, `\ude00`}, "�😀", true},
		{"the wrong way round", []string{`\ude00\ud83d`, `x`}, "��x", true},
		{"alone in the middle", []string{`a\ud83db\ude00c`}, "a�b�c", true},
		{"a pair behind a half", []string{`\ud83d\ud83d\ude00`}, "�😀", true},
	} {
		turn := say(t, c.pieces...)
		got := struct {
			Text, Shown string
			Invalid     bool
		}{turn.text.String(), turn.delta, turn.invalid}
		want := got
		want.Text, want.Shown, want.Invalid = c.want, c.want, c.invalid
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestHalfACharacterIsNoToken(t *testing.T) {
	turn := &Turn{}
	turn.Say(string(encodeHalf(0xD83D)))
	if text, token := turn.take(); text != "" || token {
		t.Errorf("%q, %t", text, token)
	}
	turn.Say(string(encodeHalf(0xDE00)))
	if text, token := turn.take(); text != "😀" || !token {
		t.Errorf("%q, %t", text, token)
	}
}

// However a text is cut by UTF-16, the pieces make the text again.
func FuzzPiecesMakeTheText(f *testing.F) {
	f.Add("a😀b", uint8(1))
	f.Add(`{"a":"\ud83d𝔘é"}`, uint8(2))
	f.Add("😀😁😂", uint8(3))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = strings.ToValidUTF8(text, "")
		units := utf16.Encode([]rune(text))
		var pieces []string
		for step := int(size%7) + 1; len(units) > 0; units = units[min(step, len(units)):] {
			var piece strings.Builder
			for _, u := range units[:min(step, len(units))] {
				piece.WriteString(escaped(u))
			}
			pieces = append(pieces, piece.String())
		}
		turn := say(t, pieces...)
		if got := turn.text.String(); got != text || turn.invalid || !utf8.ValidString(got) {
			t.Errorf("%q of %q", got, text)
		}
	})
}

func escaped(u uint16) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
}
