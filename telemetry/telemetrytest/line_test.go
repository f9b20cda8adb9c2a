package telemetrytest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLineReadsWhatDatadogDocuments(t *testing.T) {
	for _, c := range []struct {
		text string
		want Line
	}{
		{"a.b:1|c", Line{Name: "a.b", Type: "c", Values: []float64{1}}},
		{"a.b:-3|c|#x:y", Line{Name: "a.b", Type: "c", Values: []float64{-3}, Tags: []string{"x:y"}}},
		{"a.b:0.25|g|#x:y,z:a:b|c:in-123", Line{Name: "a.b", Type: "g", Values: []float64{0.25}, Tags: []string{"x:y", "z:a:b"}}},
		{"a.b_c:1:2.5:3|d|#x:none", Line{Name: "a.b_c", Type: "d", Values: []float64{1, 2.5, 3}, Tags: []string{"x:none"}}},
	} {
		got, err := ParseLine(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestParseLineRefusesWhatCanBeTakenTwoWays(t *testing.T) {
	for _, text := range []string{
		"",
		"a.b",
		"a.b:1",
		"a.b:1|",
		"a.b:1|ms",
		"a.b:1|h",
		"a.b:1|s",
		"a.b:1.5|c",
		"a.b:1:2|c",
		"a.b:1:2|g",
		"a.b:|d",
		"a.b:1:|d",
		"a.b:NaN|g",
		"a.b:1e9|g",
		"a.b:+1|g",
		"a.b:1|c|@0.5",
		"a.b:1|c|#",
		"a.b:1|c|#x",
		"a.b:1|c|#x:",
		"a.b:1|c|#x:y,",
		"a.b:1|c|#x:y,x:z",
		"a.b:1|c|#x:y z",
		"a.b:1|c|#X:y",
		"a.b:1|c|#x:y|#z:a",
		"a.b:1|c|c:id|#x:y",
		"a.b:1|c|T123",
		"a.b:1|c|",
		"A.b:1|c",
		"ab:1|c",
		"a.b:1|c\n",
	} {
		if l, err := ParseLine(text); err == nil {
			t.Errorf("%q was read as %v", text, l)
		}
	}
}

// Whatever is read prints as a line that reads the same.
func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{"a.b:1|c", "a.b:0.25|g|#x:y,z:a:b|c:in-123", "a.b:1:2.5:3|d|#x:none", "a.b:1|c|@0.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := ParseLine(text)
		if err != nil {
			return
		}
		second, err := ParseLine(first.String())
		if err != nil {
			t.Fatalf("%q was read, but not %q: %v", text, first, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%q (-first +second):\n%s", text, diff)
		}
	})
}
