package executor_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"log"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"fourfold/content/contenttest"
	"fourfold/executor"
)

// letter is a value of a shape that printers go into.
type letter struct {
	Text  string
	lines []string
	inner *letter
}

// resultsOf returns a result of each outcome; the value of those that have one is v.
func resultsOf[T any](t *testing.T, v T) map[string]executor.Result[T] {
	t.Helper()
	step := executor.Step[T]{
		ID: stepID, Budget: executor.Budget{Attempts: 1, PerAttempt: time.Hour, Total: time.Hour},
		Attempt: func(context.Context) (executor.Reply[T], error) { return executor.Reply[T]{Value: v}, nil },
	}
	failing := step
	failing.Attempt = func(context.Context) (executor.Reply[T], error) {
		return executor.Reply[T]{Value: v}, textError(contenttest.Canary)
	}
	degrading := failing
	degrading.Degrade = func() T { return v }
	abstaining := step
	abstaining.Abstain = executor.AbstainWhen(func() bool { return true }, func() T { return v })
	results := map[string]executor.Result[T]{}
	for name, s := range map[string]executor.Step[T]{"OK": step, "FAILED": failing, "DEGRADED": degrading, "ABSTAINED": abstaining} {
		r, err := executor.Run(t.Context(), s)
		if err != nil || r.Envelope().Outcome.String() != name {
			t.Fatalf("%s: got %v, %v", name, r, err)
		}
		results[name] = r
	}
	return results
}

// places returns v in every place where a value may stand.
func places[V any](v V) map[string]any {
	type exported struct{ Field V }
	type unexported struct{ field V }
	type embedded struct{ Result V }
	type behind struct{ field any }
	return map[string]any{
		"bare":              v,
		"pointer":           &v,
		"exported field":    exported{v},
		"unexported field":  unexported{v},
		"pointer to struct": &unexported{v},
		"pointer field":     unexported2[V]{&v},
		"interface field":   behind{v},
		"interface, deep":   behind{behind{unexported{v}}},
		"slice":             []V{v, v},
		"slice of pointers": []*V{&v},
		"array":             [1]V{v},
		"map value":         map[string]V{"k": v},
		"map of interfaces": map[string]any{"k": unexported{v}},
		"named":             embedded{v},
	}
}

type unexported2[V any] struct{ field *V }

// everyPlace calls f with every outcome of every kind of value in every place, and its envelope.
func everyPlace(t *testing.T, f func(t *testing.T, v any, bare bool, e executor.Envelope)) {
	t.Helper()
	canary := contenttest.Canary
	each(t, "string", canary, f)
	each(t, "bytes", []byte(canary), f)
	each(t, "JSON", json.RawMessage(`"`+canary+`"`), f)
	each(t, "struct", letter{canary, []string{canary}, &letter{Text: canary}}, f)
	each(t, "pointer", &letter{Text: canary}, f)
	each(t, "map", map[string]string{canary: canary}, f)
	each[error](t, "error", textError(canary), f)
	each[any](t, "any", []any{canary}, f)
}

func each[T any](t *testing.T, kind string, v T, f func(*testing.T, any, bool, executor.Envelope)) {
	for outcome, r := range resultsOf(t, v) {
		static := map[string]map[string]any{"as Result": places(r)}
		switch r := r.(type) { // as its own type too, which is what struct fields may have
		case executor.OK[T]:
			static["as itself"] = places(r)
		case executor.Degraded[T]:
			static["as itself"] = places(r)
		case executor.Abstained[T]:
			static["as itself"] = places(r)
		case executor.Failed[T]:
			static["as itself"] = places(r)
		}
		for as, ps := range static {
			for place, p := range ps {
				t.Run(strings.Join([]string{kind, outcome, as, place}, "/"), func(t *testing.T) {
					f(t, p, place == "bare", r.Envelope())
				})
			}
		}
	}
}

func checkOutput(t *testing.T, by, out string) {
	t.Helper()
	if form, found := contenttest.Find(out); found {
		t.Errorf("%s shows the value as %s: %s", by, form, out)
	}
}

func TestNoVerbShowsAValue(t *testing.T) {
	everyPlace(t, func(t *testing.T, v any, bare bool, e executor.Envelope) {
		for _, verb := range "vTtbcdoOqxXUeEfFgGspwz" {
			for _, flags := range []string{"", "+", "#", " ", "0", "+#", "40", ".3"} {
				format := "%" + flags + string(verb)
				out := fmt.Sprintf(format, v)
				checkOutput(t, format, out)
				// Package fmt asks no method for the type, the address and the verb that is Errorf's own.
				if bare && !strings.ContainsRune("Tpw", verb) && out != e.String() {
					t.Errorf("%s: got %s, want the envelope %v", format, out, e)
				}
			}
		}
		for _, wrong := range []string{"", "%[9]d", "%*d", "%!", "%"} {
			checkOutput(t, "the wrong format "+wrong, fmt.Sprintf(wrong, v, v))
		}
		checkOutput(t, "Sprint", fmt.Sprint(v))
		checkOutput(t, "Errorf", fmt.Errorf("failed: %v", v).Error())
		checkOutput(t, "a printed reflection", fmt.Sprint(reflect.ValueOf(v)))
	})
}

func TestNoLoggerOrTemplateShowsAValue(t *testing.T) {
	everyPlace(t, func(t *testing.T, v any, bare bool, e executor.Envelope) {
		var out bytes.Buffer
		for _, logger := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
			logger.Info("m", "k", v)
			logger.With("k", v).WithGroup("g").Info("m", slog.Any("k", []any{v}))
		}
		log.New(&out, "", 0).Print(v)
		for _, want := range []string{`"k":{"step":"classify","outcome":"`, ` k.step=classify k.outcome=`} {
			if bare && !strings.Contains(out.String(), want+e.Outcome.String()) {
				t.Errorf("slog does not show the envelope: %s", out.String())
			}
		}
		_ = texttemplate.Must(texttemplate.New("").Parse("{{.}} {{printf `%#v` .}}")).Execute(&out, v)
		_ = template.Must(template.New("").Parse("<a title='{{.}}'>{{.}}</a><script>x = {{.}}</script>")).Execute(&out, v)
		checkOutput(t, "a logger or template", out.String())
	})
}

func TestNoEncoderShowsAValue(t *testing.T) {
	encoders := map[string]func(*bytes.Buffer, any) error{
		"json": func(b *bytes.Buffer, v any) error { return json.NewEncoder(b).Encode(v) },
		"xml":  func(b *bytes.Buffer, v any) error { return xml.NewEncoder(b).Encode(v) },
		"gob":  func(b *bytes.Buffer, v any) error { return gob.NewEncoder(b).Encode(v) },
	}
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			everyPlace(t, func(t *testing.T, v any, bare bool, e executor.Envelope) {
				var out bytes.Buffer
				err := encode(&out, v)
				if err != nil {
					checkOutput(t, "the error", err.Error())
				}
				checkOutput(t, "the output", out.String())
				if bare && (err != nil || !strings.Contains(out.String(), e.Outcome.String())) {
					t.Errorf("got %s, %v, want the envelope %v", out.String(), err, e)
				}
			})
		})
	}
}

func TestResultsEncodeAsTheirEnvelope(t *testing.T) {
	for outcome, r := range resultsOf(t, contenttest.Canary) {
		want, err := json.Marshal(r.Envelope())
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: got %s, %v, want %s", outcome, got, err, want)
		}
		text, err := r.(interface{ MarshalText() ([]byte, error) }).MarshalText()
		if err != nil || string(text) != r.Envelope().String() {
			t.Errorf("%s: got %s, %v, want %v", outcome, text, err, r.Envelope())
		}
		printed := r.(interface {
			fmt.Stringer
			fmt.GoStringer
		})
		if printed.String() != r.Envelope().String() || printed.GoString() != r.Envelope().String() {
			t.Errorf("%s: prints as %s and %s, want %v", outcome, printed.String(), printed.GoString(), r.Envelope())
		}
	}
}

// errorsOfRun returns every error that Run makes and every failure it tells, made while content was all
// around.
func errorsOfRun(t *testing.T) map[string]error {
	t.Helper()
	canary := contenttest.Canary
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(textError(canary))
	errs := map[string]error{}
	_, errs["interrupted"] = executor.Run(ctx, newStep(answers(canary)))
	_, errs["invalid"] = executor.Run(t.Context(), executor.Step[string]{})
	_, errs["parked"] = executor.Run(t.Context(), newStep(fails(fmt.Errorf("%s: %w", canary, &executor.Parked{}))))
	s := newStep(nil)
	s.Budget.Attempts = 1
	for name, play := range map[string]executor.Attempt[string]{
		"unknown failure": fails(textError(canary)),
		"panic":           func(context.Context) (reply, error) { panic(textError(canary)) },
		"failure":         fails(executor.Failure{Class: executor.ClassSchema, Err: textError(canary)}),
	} {
		s.Attempt = play
		s.OnFailure = func(_ int, f executor.Failure) { errs[name] = f }
		mustRun(t, s)
	}
	if p, ok := errors.AsType[*executor.PanicError](errs["panic"]); ok {
		errs["panic error"] = p
	}
	return errs
}

// methodsAreCalled names the places where printers may call methods on what stands there.
var methodsAreCalled = map[string]bool{
	"bare": true, "pointer": true, "exported field": true, "named": true,
	"slice": true, "array": true, "map value": true,
}

func TestNoErrorOfRunShowsContent(t *testing.T) {
	errs := errorsOfRun(t)
	if len(errs) != 7 {
		t.Fatalf("got %d errors: %v", len(errs), errs)
	}
	for name, err := range errs {
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		for place, v := range places(err) {
			if _, ok := err.(executor.Failure); ok && !methodsAreCalled[place] {
				continue // Failure.Err is an exported field, which reflection can read
			}
			t.Run(name+"/"+place, func(t *testing.T) {
				for _, verb := range "vdqsxXUz" {
					for _, flags := range []string{"", "+", "#", " "} {
						checkOutput(t, "%"+flags+string(verb), fmt.Sprintf("%"+flags+string(verb), v))
					}
				}
				var out bytes.Buffer
				slog.New(slog.NewTextHandler(&out, nil)).Info("m", "k", v)
				slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "k", v)
				_ = json.NewEncoder(&out).Encode(v)
				_ = xml.NewEncoder(&out).Encode(v)
				_ = gob.NewEncoder(&out).Encode(v)
				checkOutput(t, "a logger or encoder", out.String())
			})
		}
	}
}
