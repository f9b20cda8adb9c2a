package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/internal/faultserver"
	"fourfold/provider"
	"fourfold/provider/anthropic"
	"fourfold/provider/gemini"
	"fourfold/provider/openai"
)

// Every case is played three times by the fault server: to a client alone, to a step whose chain has another provider, and to
// a step of two attempts whose chain has none.
func TestCasesAtTheWire(t *testing.T) {
	for _, c := range loadCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			t.Run("error", func(t *testing.T) { t.Parallel(); c.playError(t) })
			t.Run("next provider", func(t *testing.T) { t.Parallel(); c.playNext(t) })
			t.Run("next attempt", func(t *testing.T) { t.Parallel(); c.playAgain(t) })
		})
	}
}

// patience bounds what must happen some time. No machine is so slow.
const patience = 2 * time.Minute

// secret stands in the cases' prompts and must be in no error.
const secret = "CANARY-5f1d"

func (c wireCase) playError(t *testing.T) {
	p := c.start(t)
	ctx, cancel := p.context(t)
	defer cancel()
	reply, err := attempt(provider.NewChain(p.client), c.request())(ctx)
	c.checkUsage(t, reply.Usage, 1)
	if c.Want.Model != "" && reply.Model.String() != c.Want.Model {
		t.Errorf("model = %q, want %q", reply.Model, c.Want.Model)
	}
	if c.Want.Kind == "" {
		want := c.Want.Value
		if want == "" {
			want = usualValue
		}
		if err != nil || string(reply.Value) != want {
			t.Fatalf("answer = %q, %v; want %q", reply.Value, err, want)
		}
		return
	}
	e, ok := provider.AsError(err)
	if !ok {
		t.Fatalf("error = %v, want a provider error", err)
	}
	want := verdict{c.Want.Kind, orNone(c.Want.Reason), c.Want.Class, c.Want.Next, c.Want.Again}
	if diff := cmp.Diff(want, verdictOf(e)); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if c.Want.Status != 0 && e.Status() != c.Want.Status {
		t.Errorf("status = %d, want %d", e.Status(), c.Want.Status)
	}
	if e.Provider() != p.client.Name() {
		t.Errorf("provider = %q", e.Provider())
	}
	c.checkRetryAfter(t, e)
	c.checkClean(t, err)
	p.checkCalls(t, 1)
	p.checkLeft(t)
}

type verdict struct {
	Kind, Reason, Class string
	Next, Again         bool
}

func verdictOf(e provider.Error) verdict {
	return verdict{e.Kind().String(), e.Reason().String(), e.Failure().Class.String(), e.NextProvider(), e.NextAttempt()}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// playNext lets the case meet a chain whose second provider is well.
func (c wireCase) playNext(t *testing.T) {
	p := c.start(t)
	backup := startBackup(t)
	ctx, cancel := p.context(t)
	defer cancel()
	s := c.step(provider.NewChain(p.client, backup.client), 1)
	result, err := executor.Run(ctx, s)
	if c.Abort {
		c.checkInterrupted(t, err)
	} else if err != nil {
		t.Fatal(err)
	}
	p.checkCalls(t, 1)
	want := 0
	if c.Want.Next {
		want = 1
	}
	backup.checkCalls(t, want)
	if c.Abort {
		return
	}
	e := result.Envelope()
	wantOutcome := c.Want.Outcome
	if c.Want.Next {
		wantOutcome = "OK"
		if e.Model.String() != "backup-2026" {
			t.Errorf("model = %q, want that of the provider that answered", e.Model)
		}
	}
	if e.Outcome.String() != wantOutcome {
		t.Errorf("outcome = %s, want %s", e.Outcome, wantOutcome)
	}
}

// playAgain lets the case meet a chain of one and two attempts.
func (c wireCase) playAgain(t *testing.T) {
	p := c.start(t)
	ctx, cancel := p.context(t)
	defer cancel()
	s := c.step(provider.NewChain(p.client), 2)
	attempts := 1
	if c.Want.Again {
		attempts = 2
	}
	if after := c.retryAfter(); after > time.Second && c.Want.RetryAfterMS != nil {
		attempts = 1 // a wait that does not fit is not begun
		s.Budget.Total = min(s.Budget.Total, after*3/4)
		s.Budget.PerAttempt = min(s.Budget.PerAttempt, s.Budget.Total)
	}
	result, err := executor.Run(ctx, s)
	if c.Abort {
		c.checkInterrupted(t, err)
		p.checkCalls(t, 1)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	p.checkCalls(t, attempts)
	e := result.Envelope()
	got := []string{e.Outcome.String(), e.FailureClass.String(), fmt.Sprint(e.Attempts)}
	want := []string{c.Want.Outcome, orNone(c.Want.Class), fmt.Sprint(attempts)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome, class, attempts (-want +got):\n%s", diff)
	}
	c.checkUsage(t, e.Usage, int64(attempts))
}

func (c wireCase) retryAfter() time.Duration {
	if c.Want.RetryAfterMostMS > 0 {
		return time.Duration(c.Want.RetryAfterMostMS * float64(time.Millisecond))
	}
	if c.Want.RetryAfterMS == nil {
		return 0
	}
	return time.Duration(*c.Want.RetryAfterMS * float64(time.Millisecond))
}

func (c wireCase) request() provider.Request {
	r := provider.Request{System: content.New("Say " + secret), Prompt: content.New("Classify " + secret)}
	if !c.Text {
		r.Output = &provider.OutputSchema{Name: "verdict", JSON: json.RawMessage(`{"type":"object"}`)}
	}
	return r
}

// attempt is what a step does with a chain: ask, and take the value out of the text.
func attempt(c provider.Client, req provider.Request) executor.Attempt[json.RawMessage] {
	return func(ctx context.Context) (executor.Reply[json.RawMessage], error) {
		resp, err := c.Complete(ctx, req)
		reply := executor.Reply[json.RawMessage]{Model: resp.Model, Usage: resp.Usage}
		if err != nil {
			return reply, err
		}
		if req.Output == nil {
			reply.Value, err = json.Marshal(resp.Text.Reveal())
			return reply, err
		}
		reply.Value, err = provider.JSONValue(resp.Provider, resp.Text.Reveal())
		return reply, err
	}
}

func (c wireCase) step(chain provider.Client, attempts int) executor.Step[json.RawMessage] {
	b := executor.Budget{Attempts: attempts, PerAttempt: patience, Total: 2 * patience, Backoff: time.Millisecond}
	return executor.Step[json.RawMessage]{ID: executor.MustStepID("classify"), Attempt: attempt(chain, c.request()), Budget: b}
}

// played is one provider of a case, and the server behind it.
type played struct {
	wireCase
	server *faultserver.Server
	client provider.Client
}

func (c wireCase) start(t *testing.T) *played {
	t.Helper()
	s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer { return c.answer(t) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Error(err)
		}
	})
	if c.Answer.Mode == "refuse" {
		s.Close()
	}
	return &played{c, s, c.guard(newClient(t, c.API, "primary", s.URL()))}
}

func (c wireCase) guard(client provider.Client) provider.Client {
	timeouts := provider.Timeouts{Total: ms(c.TotalMS), FirstToken: ms(c.FirstTokenMS), Idle: ms(c.IdleMS)}
	return provider.Guard(client, provider.GuardConfig{
		Timeouts: timeouts, Stream: c.Stream, Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: 100}),
	})
}

func startBackup(t *testing.T) *played {
	t.Helper()
	c := wireCase{Answer: caseAnswer{Body: json.RawMessage(`{"object":"chat.completion","model":"backup-2026","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"{\"label\":\"table\"}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`)}}
	p := c.start(t)
	p.client = c.guard(newClient(t, "", "backup", p.server.URL()))
	return p
}

// newClient makes the client of an API; the cases' good answers fit each.
func newClient(t *testing.T, api, name, url string) provider.Client {
	t.Helper()
	var (
		c    provider.Client
		err  error
		key  = content.New("sk-" + secret)
		can  = provider.CapabilitiesOf(provider.JSONSchema, provider.Streaming)
		call = provider.MustName(name)
	)
	switch api {
	case "anthropic":
		c, err = anthropic.New(anthropic.Config{Name: call, Model: "asked", BaseURL: url, Key: key, Capabilities: can})
	case "gemini":
		c, err = gemini.New(gemini.Config{Name: call, Model: "asked", BaseURL: url, Key: key, Capabilities: can})
	default:
		c, err = openai.New(openai.Config{Name: call, Model: "asked", BaseURL: url + "/v1", Key: key, Capabilities: can})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// context is the caller's. In a case of abortion it ends as soon as the server has the call.
func (p *played) context(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if p.Abort {
		go func() {
			for len(p.server.Calls()) == 0 && ctx.Err() == nil {
				<-time.After(time.Millisecond)
			}
			cancel()
		}()
	}
	return ctx, cancel
}

func (p *played) checkCalls(t *testing.T, want int) {
	t.Helper()
	if p.Answer.Mode == "refuse" {
		want = 0
	}
	if got := len(p.server.Calls()); got != want {
		t.Errorf("%s was called %d times, want %d", p.client.Name(), got, want)
	}
}

func (p *played) checkLeft(t *testing.T) {
	t.Helper()
	if !p.Want.Left {
		return
	}
	select {
	case <-p.server.Calls()[0].Left:
	case <-time.After(patience):
		t.Error("the server never saw that the client went away")
	}
}

func (c wireCase) checkUsage(t *testing.T, got executor.Usage, times int64) {
	t.Helper()
	if c.Want.NoUsage && got.Known() {
		t.Errorf("usage = %v, want unknown", got)
	}
	if c.Want.Usage == nil {
		return
	}
	if want := executor.Tokens(times*c.Want.Usage[0], times*c.Want.Usage[1]); got != want {
		t.Errorf("usage = %v, want %v", got, want)
	}
}

func (c wireCase) checkRetryAfter(t *testing.T, e provider.Error) {
	t.Helper()
	got, said := e.RetryAfter()
	switch {
	case c.Want.RetryAfterMostMS > 0:
		if !said || got <= 0 || got > c.retryAfter() {
			t.Errorf("retry after = %v, %v; want at most %v", got, said, c.retryAfter())
		}
	case c.Want.RetryAfterMS != nil:
		if !said || got != c.retryAfter() {
			t.Errorf("retry after = %v, %v; want %v", got, said, c.retryAfter())
		}
	case said:
		t.Errorf("retry after = %v, want none", got)
	}
}

// checkClean looks for what must be in no error: the prompt, the key, the answer, an address.
func (c wireCase) checkClean(t *testing.T, err error) {
	t.Helper()
	texts := []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)}
	if encoded, encErr := json.Marshal(err); encErr == nil {
		texts = append(texts, string(encoded))
	}
	for _, text := range texts {
		for _, word := range []string{secret, "127.0.0.1", "203.0.113.9", "label", "http"} {
			if strings.Contains(text, word) {
				t.Errorf("the error shows %q: %s", word, text)
			}
		}
	}
}

func (c wireCase) checkInterrupted(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, executor.ErrInterrupted) {
		t.Errorf("error = %v, want an interruption", err)
	}
}
