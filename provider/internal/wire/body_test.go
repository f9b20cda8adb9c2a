package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestShapeOfABody(t *testing.T) {
	for _, c := range []struct {
		name, body string
		declared   shape
		want       shape
		rest       string
	}{
		{"object", `{"a":1}`, shapeOther, shapeJSON, `{"a":1}`},
		{"short object", `{}`, shapeOther, shapeJSON, `{}`},
		{"list", `[]`, shapeEvents, shapeJSON, `[]`},
		{"object after blanks", strings.Repeat("\r\n ", 100) + `{}`, shapeOther, shapeJSON, `{}`},
		{"object after a byte order mark", "\xEF\xBB\xBF{}", shapeOther, shapeJSON, "{}"},
		{"data", "data: x\n\n", shapeOther, shapeEvents, "data: x\n\n"},
		{"name", "event: x\n", shapeOther, shapeEvents, "event: x\n"},
		{"comment", ":\n\n", shapeOther, shapeEvents, ":\n\n"},
		{"unknown field, but declared", "error: {}\n\n", shapeEvents, shapeEvents, "error: {}\n\n"},
		{"unknown field", "error: {}\n\n", shapeOther, shapeOther, "error: {}\n\n"},
		{"page", "<!doctype html>", shapeOther, shapeOther, "<!doctype html>"},
		{"nothing", "", shapeOther, shapeOther, ""},
		{"blanks", " \n\n", shapeOther, shapeOther, ""},
	} {
		for kind, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.body), "byte by byte": iotest.OneByteReader(strings.NewReader(c.body)),
		} {
			b := newBounded(r, maxBody)
			got, err := b.sniff(c.declared)
			rest, _ := io.ReadAll(b)
			if got != c.want || err != nil || string(rest) != c.rest {
				t.Errorf("%s, %s: shape %d, %v, rest %q; want %d, rest %q", c.name, kind, got, err, rest, c.want, c.rest)
			}
		}
	}
}

func TestBodyIsReadToItsBoundAndNoFurther(t *testing.T) {
	for _, size := range []int{99, 100, 101} {
		got, err := io.ReadAll(newBounded(strings.NewReader(strings.Repeat("x", size)), 100))
		if size <= 100 && (err != nil || len(got) != size) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
		if size > 100 && !errors.Is(err, errTooLarge) {
			t.Errorf("%d bytes: %v, want %v", size, err, errTooLarge)
		}
	}
}
