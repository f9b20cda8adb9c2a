package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
	"fourfold/provider/providertest"
	"fourfold/provider/simulated"
)

var name = provider.MustName("sim")

func client(t *testing.T, script string) *simulated.Client {
	t.Helper()
	s, err := simulated.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	c, err := simulated.New(simulated.Config{Name: name, Capabilities: provider.CapabilitiesOf(provider.JSONSchema), Script: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asks is a request of a step, with a schema unless it is empty.
func asks(step, prompt, schema string) provider.Request {
	req := provider.Request{Step: executor.MustStepID(step), Prompt: content.New(prompt)}
	if schema != "" {
		req.Output = &provider.OutputSchema{Name: "answer", JSON: []byte(schema)}
	}
	return req
}

// told writes how a call ended: the text, or the error.
func told(answer provider.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return answer.Text.Reveal()
}

func TestASimulationIsHonestAboutBeingOne(t *testing.T) {
	c := client(t, "")
	answer, err := c.Complete(t.Context(), asks("summarise", "Tell me", ""))
	if err != nil || !strings.HasPrefix(answer.Text.Reveal(), "simulated ") {
		t.Errorf("%q, %v", answer.Text.Reveal(), err)
	}
	if answer.Model.String() != "simulated-1" || answer.ModelProvider.String() != "simulated" || answer.Provider != name {
		t.Errorf("%v of %v by %v", answer.Model, answer.ModelProvider, answer.Provider)
	}
	if answer.Usage != executor.Tokens(2, int64(len(answer.Text.Reveal())+3)/4) {
		t.Errorf("paid %v", answer.Usage)
	}
	for _, model := range []string{"gpt-5", "my-simulated", "simulated 1"} {
		if _, err := simulated.New(simulated.Config{Name: name, Model: model}); err == nil {
			t.Errorf("it passes itself off as %s", model)
		}
	}
	if _, err := simulated.New(simulated.Config{}); err == nil {
		t.Error("it has no name")
	}
	if _, err := simulated.New(simulated.Config{Name: name, Script: simulated.Script{Rules: []simulated.Rule{{Step: "No Step"}}}}); err == nil {
		t.Error("a script that was not parsed is not checked")
	}
	own, err := simulated.New(simulated.Config{Name: name, Model: "simulated-large"})
	if err != nil {
		t.Fatal(err)
	}
	if answer, _ := own.Complete(t.Context(), asks("s", "x", "")); answer.Model.String() != "simulated-large" {
		t.Error(answer.Model)
	}
}

func TestTheFirstRuleThatFitsACallCounts(t *testing.T) {
	c := client(t, `
rules:
  - {step: a, contains: needle, calls: [{text: both}]}
  - {contains: needle, calls: [{text: contains}]}
  - {where: {doc.id: d-1, doc.pages: 3}, calls: [{text: where}]}
  - {where: {0.kind: table}, calls: [{text: list}]}
  - {step: a, calls: [{text: step}]}
  - {step: empty}
`)
	for _, q := range []struct{ step, prompt, want string }{
		{"a", "hay needle hay", "both"},
		{"b", "hay needle hay", "contains"},
		{"a", `Look: {"doc":{"id":"d-1","pages":3}} and {"other":1}`, "where"},
		{"a", "Look:\n```json\n{\"doc\":{\"id\":\"d-1\",\"pages\":3}}\n```", "where"},
		{"a", `{"doc":{"id":"d-1","pages":4}}`, "step"},
		{"a", `{"doc":{"id":"d-1"}} {"doc":{"pages":3}}`, "step"},
		{"a", `{broken} [{"kind":"table"}]`, "list"},
		{"a", `[]`, "step"},
		{"b", "nothing", "simulated answer"},
		{"empty", "nothing", "simulated answer"},
	} {
		if got := told(c.Complete(t.Context(), asks(q.step, q.prompt, ""))); !strings.HasPrefix(got, q.want) {
			t.Errorf("%s, %q: %s, want %s", q.step, q.prompt, got, q.want)
		}
	}
}

func TestCallsOfOneInputFollowTheScriptAndTheLastGoesOn(t *testing.T) {
	c := client(t, `
rules:
  - {step: a, calls: [{do: rate_limit, retry_after: 2s}, {do: status}, {text: fine}]}
`)
	want := []string{"provider sim: rate_limit status 429", "provider sim: provider_error status 503", "fine", "fine"}
	for _, prompt := range []string{"one", "two"} { // each input is counted by itself
		for i, w := range want {
			if got := told(c.Complete(t.Context(), asks("a", prompt, ""))); got != w {
				t.Errorf("call %d for %s: %s, want %s", i+1, prompt, got, w)
			}
		}
	}
}

func TestEachBehaviourEndsAsAProviderWould(t *testing.T) {
	const schema = `{"type":"object","required":["kind","n"],"properties":{"kind":{"enum":["a"]},"n":{"const":1}}}`
	for _, b := range []struct {
		behaviour string
		want      string // of the text or the error
		retry     executor.Retry
		after     time.Duration
		paid      bool
	}{
		{`{}`, `{"kind":"a","n":1}`, 0, 0, true},
		{`{json: {b: [1, x]}}`, `{"b":[1,"x"]}`, 0, 0, true},
		{`{text: "so"}`, "so", 0, 0, true},
		{`{template: '{{len .Doc.tables}} of {{.Step}} {{.Call}} {{len .Docs}} {{json .Doc.tables}}'}`, `2 of a 1 2 [1,2]`, 0, 0, true},
		{`{template: '{{.Doc.nothing.more}}'}`, "provider sim: provider_error", executor.RetryYes, 0, false},
		{`{do: rate_limit}`, "provider sim: rate_limit status 429", executor.RetryYes, 0, false},
		{`{do: rate_limit, retry_after: 3s}`, "provider sim: rate_limit status 429", executor.RetryYes, 3 * time.Second, false},
		{`{do: status, status: 500}`, "provider sim: provider_error status 500", executor.RetryYes, 0, false},
		{`{do: status, status: 401}`, "provider sim: auth status 401", executor.RetryNo, 0, false},
		{`{do: hang}`, "provider sim: network/timeout", executor.RetryYes, 0, false},
		{`{do: reset}`, "provider sim: network", executor.RetryYes, 0, false},
		{`{do: malformed}`, "simulated prose: here is in words, and not as JSON, what was asked for.", 0, 0, true},
		{`{do: truncated}`, "provider sim: output_validation/truncated", executor.RetryNo, 0, true},
		{`{do: refuse}`, "provider sim: output_validation/refusal", executor.RetryNo, 0, true},
		{`{do: empty}`, "provider sim: output_validation/empty", executor.RetryYes, 0, true},
		{`{do: break_schema}`, `{"n":1}`, 0, 0, true},
	} {
		for _, streamed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, "latency: 1s\nrules: [{calls: ["+b.behaviour+"]}]")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				started := time.Now()
				var answer provider.Response
				var err error
				if req := asks("a", `The tables: {"tables":[1,2]} and []`, schema); streamed {
					answer, err = end(ctx, t, c, req)
				} else {
					answer, err = c.Complete(ctx, req)
				}
				if got := told(answer, err); got != b.want {
					t.Errorf("%s: %s, want %s", b.behaviour, got, b.want)
				}
				if f := executor.Classify(err); f.Retry != b.retry || f.RetryAfter != b.after || answer.Usage.Known() != b.paid {
					t.Errorf("%s: retry %d after %v, paid %v", b.behaviour, f.Retry, f.RetryAfter, answer.Usage)
				}
				took := time.Since(started)
				if want := map[bool]time.Duration{true: time.Minute, false: time.Second}[strings.Contains(b.behaviour, "hang")]; took != want {
					t.Errorf("%s took %v", b.behaviour, took)
				}
			})
		}
	}
}

// end reads a stream to its end, and holds its pieces against the answer.
func end(ctx context.Context, t *testing.T, c provider.Client, req provider.Request) (answer provider.Response, err error) {
	t.Helper()
	var text strings.Builder
	for chunk, e := range c.Stream(ctx, req) {
		text.WriteString(chunk.Text.Reveal())
		if err = e; chunk.Done != nil {
			answer = *chunk.Done
		}
	}
	if got := answer.Text.Reveal(); err == nil && got != text.String() {
		t.Errorf("streamed %q, answered %q", text.String(), got)
	}
	return answer, err
}

func TestAStreamCanStopInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "nine and twenty letters é and some more"
		c := client(t, `
latency: 2s
pace: 1s
rules:
  - {step: cut, calls: [{do: reset, after: 2, text: `+text+`}]}
  - {step: stall, calls: [{do: hang, after: 1, text: `+text+`}]}
  - {step: whole, calls: [{text: `+text+`}]}
`)
		for _, q := range []struct {
			step, want string
			at         time.Duration
		}{
			{"cut", "2 pieces, provider sim: network", 3 * time.Second},
			{"stall", "1 pieces, provider sim: network/timeout", 10 * time.Second},
			{"whole", "3 pieces, <nil>", 4 * time.Second},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			started, pieces := time.Now(), 0
			var last error
			for chunk, err := range c.Stream(ctx, asks(q.step, "x", "")) {
				if chunk.IsToken() {
					pieces++
				}
				last = err
				if chunk.Done != nil && err == nil && chunk.Done.FirstToken != 2*time.Second {
					t.Errorf("first token after %v", chunk.Done.FirstToken)
				}
			}
			cancel()
			if got := fmt.Sprintf("%d pieces, %v", pieces, last); got != q.want || time.Since(started) != q.at {
				t.Errorf("%s: %s after %v, want %s", q.step, got, time.Since(started), q.want)
			}
			if e, ok := provider.AsError(last); ok && e.NextProvider() {
				t.Errorf("%s: somebody else may answer after the first token", q.step)
			}
		}
	})
}

func TestASimulationConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Fixture {
		return providertest.Fixture{
			Answers: client(t, ""),
			Hangs:   client(t, "rules: [{calls: [{do: hang}]}]"),
			Breaks:  client(t, "rules: [{calls: [{do: reset, after: 1}]}]"),
			Fails: map[provider.Kind]provider.Client{
				provider.KindNetwork:          client(t, "rules: [{calls: [{do: reset}]}]"),
				provider.KindRateLimit:        client(t, "rules: [{calls: [{do: rate_limit}]}]"),
				provider.KindAuth:             client(t, "rules: [{calls: [{do: status, status: 403}]}]"),
				provider.KindInvalidRequest:   client(t, "rules: [{calls: [{do: status, status: 400}]}]"),
				provider.KindModelUnavailable: client(t, "rules: [{calls: [{do: status, status: 404}]}]"),
				provider.KindProviderError:    client(t, "rules: [{calls: [{do: status}]}]"),
				provider.KindOutputValidation: client(t, "rules: [{calls: [{do: refuse}]}]"),
			},
		}
	})
}

func TestAResetIsOne(t *testing.T) {
	_, err := client(t, "rules: [{calls: [{do: reset}]}]").Complete(t.Context(), asks("a", "x", ""))
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"enum":[1,2,3,4,5,6,7]},"b":{"type":"array","items":{"type":"number"}},"c":{"type":"boolean"}}}`
	seen := map[string]bool{}
	for i := range 20 {
		req := asks("a", fmt.Sprint(i), schema)
		first := told(client(t, "").Complete(t.Context(), req))
		if diff := cmp.Diff(first, told(client(t, "").Complete(t.Context(), req))); diff != "" {
			t.Error(diff)
		}
		seen[first] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 questions have %d answers", len(seen))
	}
}
