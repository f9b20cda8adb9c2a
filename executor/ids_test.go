package executor_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fourfold/content/contenttest"
	"fourfold/executor"
)

// identifier is what the three identifiers have in common.
type identifier interface {
	comparable
	fmt.Stringer
	encoding.TextMarshaler
	IsZero() bool
}

func checkIdentifier[I identifier](t *testing.T, parse func(string) (I, error), unmarshal func(*I, []byte) error, refusal error, good, bad []string) {
	t.Helper()
	for _, s := range good {
		id, err := parse(s)
		if err != nil || id.String() != s || id.IsZero() {
			t.Errorf("parse(%q) = %q, %v, want it back", s, id, err)
		}
		text, err := id.MarshalText()
		if err != nil || string(text) != s {
			t.Errorf("MarshalText of %q = %q, %v", s, text, err)
		}
		var back I
		if err := unmarshal(&back, text); err != nil || back != id {
			t.Errorf("UnmarshalText(%q) = %q, %v", text, back, err)
		}
	}
	for _, s := range bad {
		id, err := parse(s)
		if !errors.Is(err, refusal) || !id.IsZero() {
			t.Errorf("parse(%q) = %q, %v, want zero and %v", s, id, err, refusal)
		}
		back, _ := parse(good[0])
		if s == "" {
			refusal = nil
		}
		if err := unmarshal(&back, []byte(s)); !errors.Is(err, refusal) || !back.IsZero() {
			t.Errorf("UnmarshalText(%q) = %q, %v, want zero and %v", s, back, err, refusal)
		}
	}
	var zero I
	if text, err := zero.MarshalText(); err != nil || len(text) > 0 || zero.String() != "" || !zero.IsZero() {
		t.Errorf("zero: MarshalText = %q, %v, String = %q", text, err, zero)
	}
}

func TestStepIDHoldsNothingButANameOfAStep(t *testing.T) {
	checkIdentifier(t, executor.ParseStepID, (*executor.StepID).UnmarshalText, executor.ErrStepID,
		[]string{"a", "0", "classify-tables", "a-", "a--b", strings.Repeat("z", 63)},
		[]string{"-a", "A", "a b", "a_b", "a.b", "é", "a\n", "a\x00", strings.Repeat("z", 64), contenttest.Canary, ""})
}

func TestModelVersionHoldsNothingButAVersion(t *testing.T) {
	checkIdentifier(t, executor.ParseModelVersion, (*executor.ModelVersion).UnmarshalText, executor.ErrModelVersion,
		[]string{"m", "7", "gpt-4o-2024-08-06", "meta-llama/Llama-3.1:70b@q4+x_y", strings.Repeat("Z", 128)},
		[]string{"-m", ".m", "/m", "a model", "m\n", "m=1", "modèle", "{m}", strings.Repeat("Z", 129), ""})
}

func TestPromptSHAHoldsNothingButASum(t *testing.T) {
	checkIdentifier(t, executor.ParsePromptSHA, (*executor.PromptSHA).UnmarshalText, executor.ErrPromptSHA,
		[]string{strings.Repeat("0a", 32), strings.Repeat("f", 64)},
		[]string{"0a", strings.Repeat("0a", 31) + "0", strings.Repeat("0g", 32), strings.Repeat("0a", 33), ""})
	upper, err := executor.ParsePromptSHA(strings.Repeat("AB", 32))
	if err != nil || upper.String() != strings.Repeat("ab", 32) {
		t.Errorf("upper-case digits: got %v, %v", upper, err)
	}
}

func TestModelVersionOfWhatDoesNotFitIsUnknown(t *testing.T) {
	for s, want := range map[string]string{"gpt-4o": "gpt-4o", "": "", "I am sorry, but": "", strings.Repeat("Z", 129): ""} {
		if got := executor.ModelVersionOf(s).String(); got != want {
			t.Errorf("ModelVersionOf(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestMustStepIDPanicsWithoutQuoting(t *testing.T) {
	defer func() {
		r := recover()
		if r == nil {
			t.Fatal("no panic")
		}
		if _, found := contenttest.Find(fmt.Sprint(r)); found {
			t.Errorf("the panic quotes the text: %v", r)
		}
	}()
	executor.MustStepID(contenttest.Canary + " ")
}

func TestIdentifiersAreKeysOfMaps(t *testing.T) {
	in := map[executor.StepID]int{executor.MustStepID("a"): 1, executor.MustStepID("b"): 2}
	data, err := json.Marshal(in)
	if want := `{"a":1,"b":2}`; err != nil || string(data) != want {
		t.Fatalf("got %s, %v, want %s", data, err, want)
	}
	var out map[executor.StepID]int
	if err := json.Unmarshal(data, &out); err != nil || out[executor.MustStepID("b")] != 2 {
		t.Errorf("got %v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"A b":1}`), &out); !errors.Is(err, executor.ErrStepID) {
		t.Errorf("got %v, want ErrStepID", err)
	}
}

func FuzzIdentifiers(f *testing.F) {
	for _, s := range []string{"", "a", "classify-tables", "-", "gpt-4o", "A b", strings.Repeat("0a", 32), strings.Repeat("AB", 32), "\xff", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := executor.ParseStepID(s); err == nil && id.String() != s {
			t.Errorf("StepID %q became %q", s, id)
		}
		if m, err := executor.ParseModelVersion(s); err == nil && m.String() != s {
			t.Errorf("ModelVersion %q became %q", s, m)
		} else if (err == nil) != (executor.ModelVersionOf(s) != executor.ModelVersion{}) {
			t.Errorf("ModelVersionOf(%q) disagrees with ParseModelVersion", s)
		}
		if p, err := executor.ParsePromptSHA(s); err == nil && !strings.EqualFold(p.String(), s) && !p.IsZero() {
			t.Errorf("PromptSHA %q became %q", s, p)
		}
		for _, v := range []any{new(executor.StepID), new(executor.ModelVersion), new(executor.PromptSHA)} {
			if v.(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) == nil && strings.ContainsAny(fmt.Sprint(v), " \n\t\"'<>{}\x00") {
				t.Errorf("%T holds free text: %q", v, s)
			}
		}
	})
}
