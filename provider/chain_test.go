package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

var (
	down    = provider.Signal{Seen: provider.SeenStatus, Status: 503}
	limited = provider.Signal{Seen: provider.SeenStatus, Status: 429}
	keyless = provider.Signal{Seen: provider.SeenStatus, Status: 401}
	badly   = provider.Signal{Seen: provider.SeenStatus, Status: 400}
	missing = provider.Signal{Seen: provider.SeenStatus, Status: 404}
)

func chainOf(clients ...*fake) *provider.Chain {
	rest := make([]provider.Client, 0, len(clients))
	for _, c := range clients[1:] {
		rest = append(rest, c)
	}
	return provider.NewChain(clients[0], rest...)
}

func after(s provider.Signal, d time.Duration) provider.Signal {
	s.RetryAfter, s.HasRetryAfter = d, true
	return s
}

// outcome writes how a call of a chain ended, and who was asked how often.
func outcome(answer provider.Response, err error, clients ...*fake) string {
	text := "answer " + answer.Text.Reveal()
	if err != nil {
		text = err.Error()
	}
	for _, c := range clients {
		text += fmt.Sprintf(" %d", c.calls())
	}
	return text
}

func TestChainAsksInOrderAndEachAtMostOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients []*fake
		want    string
	}{
		{"first answers", []*fake{answers(t, "a"), answers(t, "b")}, "answer a 1 0"},
		{"second answers", []*fake{fails(t, "a", down), answers(t, "b"), answers(t, "c")}, "answer b 1 1 0"},
		{"rate limits and missing models move on", []*fake{fails(t, "a", limited), fails(t, "b", missing), answers(t, "c")}, "answer c 1 1 1"},
		{"one fails alone", []*fake{fails(t, "a", down)}, "provider a: provider_error status 503 1"},
		{"a mistake of ours stops it", []*fake{fails(t, "a", badly), answers(t, "b")}, "provider a: invalid_request status 400 1 0"},
		{"a wrong key stops it", []*fake{fails(t, "a", keyless), answers(t, "b")}, "provider a: auth status 401 1 0"},
		{
			"all fail",
			[]*fake{fails(t, "a", down), fails(t, "b", limited)},
			"provider a: provider_error status 503; provider b: rate_limit status 429 1 1",
		},
		{
			"a second one stops it",
			[]*fake{fails(t, "a", down), fails(t, "b", badly), answers(t, "c")},
			"provider a: provider_error status 503; provider b: invalid_request status 400 1 1 0",
		},
	} {
		for _, stream := range []bool{false, true} {
			for _, f := range c.clients {
				f.asked = 0
			}
			chain := chainOf(c.clients...)
			answer, err := ask(t.Context(), chain, stream)
			if got := outcome(answer, err, c.clients...); got != c.want {
				t.Errorf("%s, streamed %t: %s, want %s", c.name, stream, got, c.want)
			}
		}
	}
}

// ask makes one call, streamed or not.
func ask(ctx context.Context, c provider.Client, stream bool) (provider.Response, error) {
	if !stream {
		return c.Complete(ctx, provider.Request{})
	}
	s := read(c.Stream(ctx, provider.Request{}))
	if s.done == nil {
		return provider.Response{}, s.err
	}
	return *s.done, s.err
}

func TestChainNamesWhoAnsweredAndCountsWhatFailedToo(t *testing.T) {
	for _, stream := range []bool{false, true} {
		answer, err := ask(t.Context(), chainOf(fails(t, "a", down), answers(t, "b")), stream)
		if err != nil || answer.Provider.String() != "b" || answer.Model.String() != "m-b" || answer.Usage != executor.Tokens(110, 1) {
			t.Errorf("streamed %t: %v by %v with %v, %v", stream, answer.Provider, answer.Model, answer.Usage, err)
		}
		answer, err = ask(t.Context(), chainOf(fails(t, "a", down), fails(t, "b", down)), stream)
		if err == nil || answer.Usage != executor.Tokens(200, 0) || answer.Text.Reveal() != "" {
			t.Errorf("streamed %t: beside the error %v", stream, answer.Usage)
		}
	}
}

func TestWhenAllFailTheLastOneNamesTheClassAndAnyMayBeAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals []provider.Signal
		last    provider.Kind
		want    executor.Failure
	}{
		{"both again", []provider.Signal{limited, down}, provider.KindProviderError, executor.Failure{Class: executor.ClassUpstream5xx, Retry: executor.RetryYes}},
		{"first again", []provider.Signal{down, badly}, provider.KindInvalidRequest, executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes}},
		{"none again", []provider.Signal{missing, badly}, provider.KindInvalidRequest, executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryNo}},
		{
			"the shortest wait",
			[]provider.Signal{after(limited, 9*time.Second), after(limited, 4*time.Second), after(limited, 7*time.Second)},
			provider.KindRateLimit,
			executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: 4 * time.Second},
		},
		{
			"one that names no wait may be asked at once",
			[]provider.Signal{down, after(limited, 4*time.Second)},
			provider.KindRateLimit,
			executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes},
		},
		{
			"a wait of one that may not be asked again is none",
			[]provider.Signal{after(missing, time.Second), after(limited, 4*time.Second)},
			provider.KindRateLimit,
			executor.Failure{Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: 4 * time.Second},
		},
	} {
		var clients []*fake
		for i, s := range c.signals {
			clients = append(clients, fails(t, string(rune('a'+i)), s))
		}
		_, err := chainOf(clients...).Complete(t.Context(), provider.Request{})
		got := executor.Classify(err)
		got.Err = nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		all, ok := errors.AsType[*provider.ChainError](err)
		if !ok || len(all.Unwrap()) != len(clients) {
			t.Errorf("%s: %v hides an error", c.name, err)
		}
		if last, ok := provider.AsError(err); !ok || last.Kind() != c.last || last.Provider() != clients[len(clients)-1].name {
			t.Errorf("%s: the last error is %v", c.name, last)
		}
	}
	_, err := chainOf(fails(t, "a", limited), fails(t, "b", down)).Complete(t.Context(), provider.Request{})
	if e, ok := errors.AsType[*provider.RateLimitError](err); !ok || e.Provider().String() != "a" {
		t.Errorf("%v hides the first provider's error", err)
	}
}

func TestOptionsMoveTheChainOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal provider.Signal
		option provider.ChainOption
		want   string
	}{
		{"opted in", keyless, provider.FallbackOn(provider.KindAuth), "answer b 1 1"},
		{"not this kind", badly, provider.FallbackOn(provider.KindAuth), "provider a: invalid_request status 400 1 0"},
		{"in addition to the table", down, provider.FallbackOn(provider.KindAuth), "answer b 1 1"},
		{"instead of the table", down, provider.FallbackWhen(func(e provider.Error) bool { return e.Status() == 400 }), "provider a: provider_error status 503 1 0"},
		{"by one's own rule", badly, provider.FallbackWhen(func(e provider.Error) bool { return e.Status() == 400 }), "answer b 1 1"},
		{"no rule", down, provider.FallbackWhen(nil), "answer b 1 1"},
		{"never when the caller is gone", provider.Signal{Seen: provider.SeenAborted}, provider.FallbackWhen(func(provider.Error) bool { return true }), "provider a: network/aborted 1 0"},
	} {
		for _, stream := range []bool{false, true} {
			a, b := fails(t, "a", c.signal), answers(t, "b")
			answer, err := ask(t.Context(), chainOf(a, b).With(c.option), stream)
			if got := outcome(answer, err, a, b); got != c.want {
				t.Errorf("%s, streamed %t: %s, want %s", c.name, stream, got, c.want)
			}
		}
	}
}

func TestWithLeavesTheChainAsItWas(t *testing.T) {
	a, b := fails(t, "a", keyless), answers(t, "b")
	plain := chainOf(a, b)
	plain.With(provider.FallbackOn(provider.KindAuth))
	if _, err := plain.Complete(t.Context(), provider.Request{}); err == nil {
		t.Error("an option of a copy changed the chain")
	}
	one := plain.With(provider.FallbackOn(provider.KindNetwork, provider.KindRateLimit, provider.KindProviderError))
	one = one.With(provider.FallbackOn(provider.KindInvalidRequest)) // has room for more by now
	two := one.With(provider.FallbackOn(provider.KindOutputValidation))
	one.With(provider.FallbackOn(provider.KindAuth))
	if _, err := two.Complete(t.Context(), provider.Request{}); err == nil {
		t.Error("an option of one copy changed another")
	}
}

func TestWhoLacksACapabilityIsNeverAsked(t *testing.T) {
	a, b := answers(t, "a"), answers(t, "b")
	b.able = provider.CapabilitiesOf(provider.JSONSchema, provider.Streaming)
	chain := chainOf(a, b)
	need := provider.CapabilitiesOf(provider.JSONSchema)
	for _, stream := range []bool{false, true} {
		var answer provider.Response
		var err error
		if stream {
			s := read(chain.Stream(t.Context(), provider.Request{Requires: need}))
			answer, err = *s.done, s.err
		} else {
			answer, err = chain.Complete(t.Context(), provider.Request{Requires: need})
		}
		if err != nil || answer.Provider.String() != "b" || a.calls() != 0 {
			t.Errorf("streamed %t: answered by %v, %v", stream, answer.Provider, err)
		}
	}
	if diff := cmp.Diff([]string{"b"}, names(chain.Able(need))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(chain.Able(0))); diff != "" {
		t.Error(diff)
	}
	if chain.Capabilities() != b.able || chain.Name() != a.name {
		t.Errorf("the chain is %v and can do %v", chain.Name(), chain.Capabilities())
	}
}

func names(ns []provider.Name) (texts []string) {
	for _, n := range ns {
		texts = append(texts, n.String())
	}
	return texts
}

func TestAChainWithNobodyAbleSaysSoAndIsNotTriedAgain(t *testing.T) {
	a, b := answers(t, "a"), answers(t, "b")
	a.able, b.able = provider.CapabilitiesOf(provider.Tools), provider.CapabilitiesOf(provider.JSONSchema)
	chain := chainOf(a, b)
	need := provider.CapabilitiesOf(provider.Tools, provider.JSONSchema) // one each, nobody both
	const want = "no provider of the chain can do json_schema,tools: a lacks json_schema; b lacks tools"
	if err := chain.Check(need); err == nil || err.Error() != want {
		t.Errorf("Check: %v, want %s", err, want)
	}
	if err := chain.Check(a.able); err != nil {
		t.Errorf("Check of what a can do: %v", err)
	}
	_, err := chain.Complete(t.Context(), provider.Request{Requires: need})
	e, ok := errors.AsType[*provider.InvalidRequestError](err)
	if !ok || says(e) != "invalid_request/capability next:no again:no upstream-4xx" || a.calls()+b.calls() != 0 {
		t.Errorf("%v", err)
	}
	if _, ok := errors.AsType[*provider.CapabilityError](err); !ok || chain.Able(need) != nil {
		t.Errorf("%v does not say what is lacking", err)
	}
}

func TestNobodyIsAskedWhenTheCallerIsGone(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, stream := range []bool{false, true} {
		a := answers(t, "a")
		_, err := ask(gone, chainOf(a), stream)
		if e, ok := provider.AsError(err); !ok || e.Reason() != provider.ReasonAborted || a.calls() != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%v after %d calls", err, a.calls())
		}
		leaving, leave := context.WithCancel(t.Context())
		b := fails(t, "b", down)
		fail := b.do
		b.do = func(ctx context.Context, n int) (provider.Response, error) { leave(); return fail(ctx, n) }
		c := answers(t, "c")
		if _, err := ask(leaving, chainOf(b, c), stream); err == nil || c.calls() != 0 {
			t.Errorf("asked %d times more, %v", c.calls(), err)
		}
	}
}

func TestParkedIsNoErrorOfAProvider(t *testing.T) {
	soon, later := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	for _, stream := range []bool{false, true} {
		a, b := parks(t, "a", soon), answers(t, "b")
		if answer, err := ask(t.Context(), chainOf(a, b), stream); err != nil || answer.Provider != b.name {
			t.Errorf("the next one is not asked: %v", err)
		}
		_, err := ask(t.Context(), chainOf(parks(t, "a", later), parks(t, "b", soon), parks(t, "c", later)), stream)
		if parked, ok := errors.AsType[*executor.Parked](err); !ok || !parked.NotBefore.Equal(soon) {
			t.Errorf("not parked until the earliest: %v", err)
		}
		for _, clients := range [][]*fake{{parks(t, "a", soon), fails(t, "b", keyless)}, {fails(t, "a", down), parks(t, "b", soon)}} {
			_, err := ask(t.Context(), chainOf(clients...), stream)
			if _, parked := errors.AsType[*executor.Parked](err); parked || executor.Classify(err).Retry != executor.RetryYes {
				t.Errorf("%v: a failure counts, and the parked one may be asked again", err)
			}
		}
		_, err = ask(t.Context(), chainOf(parks(t, "a", soon), fails(t, "b", keyless)), stream)
		if wait := executor.Classify(err).RetryAfter; wait < 59*time.Minute || wait > time.Hour {
			t.Errorf("it may be asked again after %v", wait)
		}
	}
}

func TestAnErrorThatIsNoProvidersEndsThePass(t *testing.T) {
	bug := &executor.PanicError{Type: "runtime.boundsError"}
	for _, stream := range []bool{false, true} {
		a, b := answers(t, "a"), answers(t, "b")
		a.do = func(context.Context, int) (provider.Response, error) { return provider.Response{}, bug }
		if _, err := ask(t.Context(), chainOf(a, b), stream); !errors.Is(err, bug) || b.calls() != 0 {
			t.Errorf("%v, and the next was asked %d times", err, b.calls())
		}
	}
}

func TestMovesAreTold(t *testing.T) {
	for _, stream := range []bool{false, true} {
		h := &heard{}
		chain := chainOf(fails(t, "a", down), parks(t, "b", time.Now()), fails(t, "c", limited), fails(t, "d", down)).With(provider.ObserveChain(h))
		_, _ = ask(t.Context(), chain, stream)
		if diff := cmp.Diff([]string{"a>b provider_error", "b>c none", "c>d rate_limit"}, h.moves); diff != "" {
			t.Errorf("streamed %t: %s", stream, diff)
		}
	}
}

func TestChainsNest(t *testing.T) {
	inner := chainOf(fails(t, "a", down), fails(t, "b", limited))
	c := answers(t, "c")
	answer, err := provider.NewChain(inner, c).Complete(t.Context(), provider.Request{Prompt: content.New("x")})
	if err != nil || answer.Provider != c.name || answer.Usage != executor.Tokens(210, 1) {
		t.Errorf("%v with %v, %v", answer.Provider, answer.Usage, err)
	}
	_, err = provider.NewChain(inner, fails(t, "d", badly)).Complete(t.Context(), provider.Request{})
	const want = "provider a: provider_error status 503; provider b: rate_limit status 429; provider d: invalid_request status 400"
	if err.Error() != want || executor.Classify(err).Retry != executor.RetryYes {
		t.Errorf("%v, want %s", err, want)
	}
}
