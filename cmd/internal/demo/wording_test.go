package demo

import "testing"

func TestALineOfManyValuesShowsThree(t *testing.T) {
	for line, want := range map[string]string{
		"a.b:1|c|#x:y,z:w":         "a.b:1|c|#x:y,z:w",
		"a.b:1:2:3|d|#x:y":         "a.b:1:2:3|d|#x:y",
		"a.b:1:2:3:4:5|d|#x:y,z:w": "a.b:1:2:3:…|d|#x:y,z:w",
	} {
		if got := fewValues(line); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheHeadlineSaysWhoIsPaid(t *testing.T) {
	for _, c := range []struct {
		asked providers
		want  string
	}{
		{providers{}, "The providers are SIMULATED: no model is asked, their answers and faults are scripted."},
		{providers{simulated: []string{"a", "b"}}, "The providers are SIMULATED (a, b): no model is asked, and nothing is paid for."},
		{providers{real: []string{"a"}}, "The providers are REAL: a is asked and paid for."},
		{providers{real: []string{"a", "b"}}, "The providers are REAL: a, b are asked and paid for."},
		{providers{real: []string{"a"}, simulated: []string{"b", "c"}}, "Providers that are REAL: a is asked and paid for. SIMULATED: b, c."},
	} {
		if got := c.asked.text(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
