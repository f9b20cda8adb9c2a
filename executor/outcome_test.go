package executor_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
)

func TestOutcomesPrintAsOnTheDashboard(t *testing.T) {
	var got []string
	for _, o := range executor.Outcomes() {
		got = append(got, o.String())
	}
	if diff := cmp.Diff([]string{"ABSTAINED", "OK", "DEGRADED", "FAILED"}, got); diff != "" {
		t.Errorf("outcomes, in the order of joins (-want +got):\n%s", diff)
	}
	got = nil
	for _, c := range executor.FailureClasses() {
		got = append(got, c.String())
	}
	if diff := cmp.Diff([]string{"timeout", "parse", "schema", "upstream-5xx", "upstream-4xx"}, got); diff != "" {
		t.Errorf("failure classes (-want +got):\n%s", diff)
	}
	if a, b := executor.OutcomeNone.String(), executor.ClassNone.String(); a != "none" || b != "none" {
		t.Errorf("zero values print as %s and %s, want none", a, b)
	}
}

// Every number a byte can hold: it is encoded and decoded as itself, or refused.
func TestEnumerationsAreCodedAsThemselvesOrNotAtAll(t *testing.T) {
	for n := range 256 {
		o, wantErr := executor.Outcome(n), n > len(executor.Outcomes())
		text, err := o.MarshalText()
		if errors.Is(err, executor.ErrOutcome) != wantErr {
			t.Errorf("Outcome %d: MarshalText error is %v", n, err)
		}
		var back executor.Outcome
		if err := back.UnmarshalText(text); err == nil && back != o || (err != nil) != wantErr {
			t.Errorf("Outcome %d: came back as %d, %v", n, back, err)
		}
		if parsed, err := executor.ParseOutcome(o.String()); (err != nil) != wantErr || err == nil && parsed != o {
			t.Errorf("ParseOutcome(%q) = %d, %v", o, parsed, err)
		}

		c, wantErr := executor.FailureClass(n), n > len(executor.FailureClasses())
		text, err = c.MarshalText()
		if errors.Is(err, executor.ErrFailureClass) != wantErr {
			t.Errorf("FailureClass %d: MarshalText error is %v", n, err)
		}
		var backClass executor.FailureClass
		if err := backClass.UnmarshalText(text); err == nil && backClass != c || (err != nil) != wantErr {
			t.Errorf("FailureClass %d: came back as %d, %v", n, backClass, err)
		}
		if parsed, err := executor.ParseFailureClass(c.String()); (err != nil) != wantErr || err == nil && parsed != c {
			t.Errorf("ParseFailureClass(%q) = %d, %v", c, parsed, err)
		}
		if (o.IsZero() || c.IsZero()) != (n == 0) {
			t.Errorf("%d: IsZero() = %v, %v", n, o.IsZero(), c.IsZero())
		}
	}
}

func TestEnumerationsAreParsedExactly(t *testing.T) {
	for _, s := range []string{"", "ok", "Ok", " OK", "OK ", "FAILURE", "None", "Outcome(9)"} {
		if o, err := executor.ParseOutcome(s); !errors.Is(err, executor.ErrOutcome) || o != executor.OutcomeNone {
			t.Errorf("ParseOutcome(%q) = %v, %v", s, o, err)
		}
	}
	for _, s := range []string{"", "Timeout", "upstream_5xx", "upstream-6xx", "parse\n"} {
		if c, err := executor.ParseFailureClass(s); !errors.Is(err, executor.ErrFailureClass) || c != executor.ClassNone {
			t.Errorf("ParseFailureClass(%q) = %v, %v", s, c, err)
		}
	}
}

func TestWorstIsAJoin(t *testing.T) {
	worst, all := executor.Worst, executor.Outcomes()
	if got := worst(); got != executor.OutcomeAbstained {
		t.Errorf("Worst() = %v, want the identity ABSTAINED", got)
	}
	for _, a := range all {
		if got := worst(a); got != a {
			t.Errorf("Worst(%v) = %v", a, got)
		}
		if got := worst(a, a); got != a {
			t.Errorf("not idempotent: Worst(%v, %v) = %v", a, a, got)
		}
		if got := worst(executor.OutcomeAbstained, a); got != a {
			t.Errorf("ABSTAINED is no identity: Worst(ABSTAINED, %v) = %v", a, got)
		}
		if got := worst(executor.OutcomeNone, a, executor.OutcomeNone); got != a {
			t.Errorf("none is not ignored: got %v beside %v", got, a)
		}
		for _, b := range all {
			if x, y := worst(a, b), worst(b, a); x != y {
				t.Errorf("not commutative: %v and %v of %v, %v", x, y, a, b)
			}
			if got := worst(a, b); got < a || got < b || got != a && got != b {
				t.Errorf("no least upper bound: Worst(%v, %v) = %v", a, b, got)
			}
			for _, c := range all {
				x, y, flat := worst(worst(a, b), c), worst(a, worst(b, c)), worst(a, b, c)
				if x != y || x != flat {
					t.Errorf("not associative: %v, %v, %v of %v, %v, %v", x, y, flat, a, b, c)
				}
				if a <= b && worst(a, c) > worst(b, c) {
					t.Errorf("not monotone: %v ≤ %v, but Worst(%v, %v) > Worst(%v, %v)", a, b, a, c, b, c)
				}
			}
		}
	}
}

func TestWorstOrdersAsJoinsDo(t *testing.T) {
	const (
		a, k = executor.OutcomeAbstained, executor.OutcomeOK
		d, f = executor.OutcomeDegraded, executor.OutcomeFailed
	)
	tests := []struct {
		in   []executor.Outcome
		want executor.Outcome
	}{
		{[]executor.Outcome{a, a, a}, a},
		{[]executor.Outcome{a, k, a}, k},
		{[]executor.Outcome{k, d, a}, d},
		{[]executor.Outcome{d, f, k}, f},
		{[]executor.Outcome{executor.OutcomeNone}, a},
		{[]executor.Outcome{k, executor.Outcome(200)}, f}, // a number that is no outcome is nothing clean
	}
	for _, tt := range tests {
		if got := executor.Worst(tt.in...); got != tt.want {
			t.Errorf("Worst(%v) = %v, want %v", tt.in, got, tt.want)
		}
	}
}
