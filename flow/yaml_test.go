package flow

import (
	"strings"
	"testing"
	"testing/fstest"
)

// What would keep the parser busy is refused before it sees the file.
func TestFilesOfUnboundedShapeAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"brackets":       {strings.Repeat("[", 100_000), "flow.yaml:1:65: nested more than 64 deep"},
		"braces":         {strings.Repeat("{a: ", 100_000), "flow.yaml:1:257: nested more than 64 deep"},
		"dashes":         {strings.Repeat("- ", 100_000), "flow.yaml:1:129: nested more than 64 deep"},
		"question marks": {strings.Repeat("? a\n", 100_000), "flow.yaml:1:1: keys that begin with ? are not supported"},
		"in brackets":    {"{? a: b}", "flow.yaml:1:2: keys that begin with ? are not supported"},
		"flow keys":      {"{" + strings.Repeat("1, ", 100_000) + "}", "flow.yaml:1:771: more than 256 keys in one mapping"},
		"flow entries":   {"a: [" + strings.Repeat("1, ", 100_000) + "]", "flow.yaml:1:12294: more than 4096 entries in one list"},
		"indents":        {indents(100), "flow.yaml:65:66: nested more than 64 deep"},
		"keys":           {strings.Repeat("a: 1\n", 50_000), "flow.yaml:257:2: more than 256 keys in one mapping"},
		"keys below":     {"a:\n" + strings.Repeat("  a: 1\n", 50_000), "flow.yaml:258:4: more than 256 keys in one mapping"},
		"documents":      {strings.Repeat("--- a\n", 50_000), "flow.yaml:3:1: a second YAML document; a flow file holds one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{"flow.yaml": {Data: []byte(c.text)}}, "flow.yaml")
			if err == nil || err.Error() != c.want {
				t.Errorf("got %.200v, want %s", err, c.want)
			}
		})
	}
}

func indents(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}
