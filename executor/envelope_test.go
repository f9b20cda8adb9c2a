package executor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"fourfold/executor"
)

var fullEnvelope = executor.Envelope{
	Step:         executor.MustStepID("classify-tables"),
	Outcome:      executor.OutcomeDegraded,
	FailureClass: executor.ClassTimeout,
	Attempts:     3,
	Latency:      60012*time.Millisecond + 999*time.Microsecond,
	Model:        executor.ModelVersionOf("gpt-4o-2024-08-06"),
	Prompt:       executor.PromptSHA(bytes.Repeat([]byte{0x9f}, 32)),
	Usage:        executor.Tokens(812, 0),
}

func TestEnvelopeEncodesAsPromised(t *testing.T) {
	sha := strings.Repeat("9f", 32)
	tests := []struct {
		name             string
		envelope         executor.Envelope
		json, text, slog string
	}{
		{
			"everything", fullEnvelope,
			`{"step":"classify-tables","outcome":"DEGRADED","failure_class":"timeout","attempts":3,"latency_ms":60012,` +
				`"model_version":"gpt-4o-2024-08-06","prompt_bundle_sha":"` + sha + `","token_usage":{"input":812,"output":0}}`,
			`step=classify-tables outcome=DEGRADED failure_class=timeout attempts=3 latency_ms=60012 ` +
				`model_version=gpt-4o-2024-08-06 prompt_bundle_sha=` + sha + ` token_usage.input=812 token_usage.output=0`,
			`e.step=classify-tables e.outcome=DEGRADED e.failure_class=timeout e.attempts=3 e.latency_ms=60012 ` +
				`e.model_version=gpt-4o-2024-08-06 e.prompt_bundle_sha=` + sha + ` e.token_usage.input=812 e.token_usage.output=0`,
		},
		{
			"only what is always there",
			executor.Envelope{Step: executor.MustStepID("a"), Outcome: executor.OutcomeAbstained},
			`{"step":"a","outcome":"ABSTAINED","attempts":0,"latency_ms":0}`,
			`step=a outcome=ABSTAINED attempts=0 latency_ms=0`,
			`e.step=a e.outcome=ABSTAINED e.attempts=0 e.latency_ms=0`,
		},
		{
			"known to have cost nothing",
			executor.Envelope{Step: executor.MustStepID("a"), Outcome: executor.OutcomeOK, Attempts: 1, Usage: executor.Tokens(0, 0)},
			`{"step":"a","outcome":"OK","attempts":1,"latency_ms":0,"token_usage":{"input":0,"output":0}}`,
			`step=a outcome=OK attempts=1 latency_ms=0 token_usage.input=0 token_usage.output=0`,
			`e.step=a e.outcome=OK e.attempts=1 e.latency_ms=0 e.token_usage.input=0 e.token_usage.output=0`,
		},
		{
			"zero",
			executor.Envelope{},
			`{"step":"","outcome":"none","attempts":0,"latency_ms":0}`,
			`step= outcome=none attempts=0 latency_ms=0`,
			`e.step="" e.outcome=none e.attempts=0 e.latency_ms=0`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := json.Marshal(tt.envelope)
			if err != nil || string(data) != tt.json {
				t.Errorf("JSON: %v\n got %s\nwant %s", err, data, tt.json)
			}
			if got := tt.envelope.String(); got != tt.text {
				t.Errorf("text:\n got %s\nwant %s", got, tt.text)
			}
			var line bytes.Buffer
			slog.New(slog.NewTextHandler(&line, nil)).Info("m", "e", tt.envelope)
			if _, got, _ := strings.Cut(strings.TrimSpace(line.String()), "msg=m "); got != tt.slog {
				t.Errorf("slog:\n got %s\nwant %s", got, tt.slog)
			}
			var back executor.Envelope
			want := tt.envelope
			want.Latency = want.Latency.Truncate(time.Millisecond)
			if err := json.Unmarshal(data, &back); err != nil || back != want {
				t.Errorf("decoded: %v\n got %v\nwant %v", err, back, want)
			}
		})
	}
}

func TestEnvelopeIsNotDecodedFromWhatIsNone(t *testing.T) {
	for _, data := range []string{
		`[]`, `"text"`, `{"step":"A b"}`, `{"outcome":"ok"}`, `{"outcome":7}`, `{"failure_class":"slow"}`,
		`{"attempts":-1}`, `{"attempts":1.5}`, `{"latency_ms":-1}`, `{"latency_ms":9223372036854775807}`,
		`{"model_version":"a model"}`, `{"prompt_bundle_sha":"9f"}`, `{"token_usage":{"input":1}}`,
		`{"token_usage":{"input":-1,"output":0}}`, `{"token_usage":7}`,
	} {
		e := fullEnvelope
		if err := e.UnmarshalJSON([]byte(data)); !errors.Is(err, executor.ErrEnvelope) || e != fullEnvelope {
			t.Errorf("%s: got %v, %v, want ErrEnvelope and no change", data, e, err)
		}
	}
	var e executor.Envelope
	if err := json.Unmarshal([]byte(`{"step":"a","outcome":"OK","provider":"primary","error_kind":"none"}`), &e); err != nil {
		t.Errorf("further keys: %v", err)
	}
}

func FuzzEnvelopeCodec(f *testing.F) {
	full, err := json.Marshal(fullEnvelope)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(full), `{}`, `null`, `{"step":"a","outcome":"OK"}`, `{"latency_ms":9223372036854}`, `{"token_usage":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, back executor.Envelope
		if json.Unmarshal(data, &e) != nil {
			return
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%v was decoded but is not encoded: %v", e, err)
		}
		if err := json.Unmarshal(again, &back); err != nil || back != e {
			t.Errorf("came back as %v, %v, want %v", back, err, e)
		}
	})
}

// mayHoldText are the types within an envelope whose text is checked wherever one is made.
var mayHoldText = map[reflect.Type]bool{
	reflect.TypeFor[executor.StepID]():       true,
	reflect.TypeFor[executor.ModelVersion](): true,
}

// Whatever can be reached from an envelope is a number, a truth value, an array of them, or one of the
// identifiers whose parsers refuse free text (and TestXHoldsNothingBut… shows that they do).
func TestNothingInAnEnvelopeCanHoldFreeText(t *testing.T) {
	seen := 0
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		seen++
		switch kind := typ.Kind(); {
		case mayHoldText[typ]:
			if typ.NumField() != 1 || typ.Field(0).IsExported() {
				t.Errorf("%s: %v can be made without its parser", path, typ)
			}
		case kind == reflect.Struct:
			for i := range typ.NumField() {
				walk(path+"."+typ.Field(i).Name, typ.Field(i).Type)
			}
		case kind == reflect.Array:
			walk(path+"[]", typ.Elem())
		case kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr:
		default:
			t.Errorf("%s: %v can hold anything", path, typ)
		}
	}
	walk("Envelope", reflect.TypeFor[executor.Envelope]())
	if seen < 12 {
		t.Errorf("the walk saw %d types only", seen)
	}
}

func TestUsageSumsWhatIsKnown(t *testing.T) {
	tokens, unknown := executor.Tokens, executor.Usage{}
	tests := []struct {
		name string
		got  executor.Usage
		want executor.Usage
		text string
	}{
		{"unknown and unknown", unknown.Add(unknown), unknown, "unknown"},
		{"known and unknown", tokens(3, 4).Add(unknown), tokens(3, 4), "input=3 output=4"},
		{"unknown and known", unknown.Add(tokens(3, 4)), tokens(3, 4), "input=3 output=4"},
		{"known and known", tokens(3, 4).Add(tokens(10, 20)), tokens(13, 24), "input=13 output=24"},
		{"unknown and none", unknown.Add(tokens(0, 0)), tokens(0, 0), "input=0 output=0"},
		{"negative", tokens(-1, 4), unknown, "unknown"},
		{"more than fits", tokens(math.MaxInt64, 1).Add(tokens(1, 1)), tokens(math.MaxInt64, 2), "input=9223372036854775807 output=2"},
	}
	for _, tt := range tests {
		if tt.got != tt.want || tt.got.String() != tt.text || tt.got.IsZero() == tt.got.Known() {
			t.Errorf("%s: got %v, want %v (%s)", tt.name, tt.got, tt.want, tt.text)
		}
	}
	if unknown == tokens(0, 0) {
		t.Error("unknown is the same as none")
	}
}

func TestUsageIsCodedWithoutInventing(t *testing.T) {
	for usage, want := range map[executor.Usage]string{
		{}:                      `{"u":null}`,
		executor.Tokens(0, 0):   `{"u":{"input":0,"output":0}}`,
		executor.Tokens(812, 7): `{"u":{"input":812,"output":7}}`,
	} {
		type document struct {
			U executor.Usage `json:"u"`
		}
		data, err := json.Marshal(document{usage})
		if err != nil || string(data) != want {
			t.Errorf("%v: got %s, %v, want %s", usage, data, err, want)
		}
		back := document{executor.Tokens(1, 1)}
		if err := json.Unmarshal(data, &back); err != nil || back.U != usage {
			t.Errorf("%s: came back as %v, %v", data, back.U, err)
		}
	}
	for _, data := range []string{`{}`, `{"input":1}`, `{"input":1,"output":-1}`, `{"input":1,"output":"1"}`, `7`, `[]`} {
		u := executor.Tokens(1, 1)
		if err := json.Unmarshal([]byte(data), &u); !errors.Is(err, executor.ErrUsage) || u.Known() {
			t.Errorf("%s: got %v, %v, want ErrUsage and unknown", data, u, err)
		}
	}
}
