package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

var (
	primary  = provider.MustName("primary")
	cfgModel = executor.ModelVersionOf("configured")
	openai   = mustModelProvider("openai")
)

func mustModelProvider(s string) provider.ModelProvider {
	m, err := provider.ParseModelProvider(s)
	if err != nil {
		panic(err)
	}
	return m
}

// hangs is a client that answers only when its context ends, and a deaf one not even then but after an hour.
func hangs(t *testing.T, deaf bool) *fake {
	t.Helper()
	f := &fake{name: primary}
	f.do = func(ctx context.Context, _ int) (provider.Response, error) {
		done := ctx.Done()
		if deaf {
			done = nil
		}
		select {
		case <-done:
			return provider.Response{}, provider.Judge(provider.FromError(ctx, ctx.Err()))
		case <-time.After(time.Hour):
			return said("late"), nil
		}
	}
	return f
}

// script is a client whose stream shows a chunk after each pause and then ends in an answer.
func script(pauses ...any) *fake {
	f := &fake{name: primary}
	f.parts = func(ctx context.Context, _ int) iter.Seq2[provider.Chunk, error] {
		return func(yield func(provider.Chunk, error) bool) {
			var text strings.Builder
			for _, p := range pauses {
				switch p := p.(type) {
				case time.Duration:
					select {
					case <-time.After(p):
					case <-ctx.Done():
						yield(provider.Chunk{}, provider.Judge(provider.FromError(ctx, ctx.Err())))
						return
					}
				case string:
					text.WriteString(p)
					if !yield(part(p), nil) {
						return
					}
				case provider.Chunk:
					if !yield(p, nil) {
						return
					}
				}
			}
			answer := said("x")
			answer.Text = content.New(text.String())
			yield(provider.Chunk{Done: &answer}, nil)
		}
	}
	return f
}

// each runs a test in a bubble, for Complete, for Complete answered by streaming, and for Stream.
func each(t *testing.T, test func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error))) {
	t.Helper()
	for _, way := range []struct {
		name         string
		stream, read bool
	}{{"Complete", false, false}, {"Complete by streaming", true, false}, {"Stream", false, true}} {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := provider.GuardConfig{ModelProvider: openai, Model: cfgModel, Stream: way.stream}
				test(t, cfg, func(ctx context.Context, c provider.Client) (provider.Response, error) { return ask(ctx, c, way.read) })
			})
		})
	}
}

func TestAGuardEndsACallWhenItsTimeIsOver(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			before := provider.Strays()
			h := &heard{}
			cfg.Timeouts.Total, cfg.Observer = 8*time.Second, h
			cfg.Breaker = provider.NewBreaker(provider.BreakerConfig{Failures: 1})
			started := time.Now()
			_, err := ask(t.Context(), provider.Guard(hangs(t, deaf), cfg))
			if e, ok := provider.AsError(err); !ok || says(e) != "network/timeout next:yes again:yes timeout" || time.Since(started) != 8*time.Second {
				t.Errorf("deaf %t: %v after %v", deaf, err, time.Since(started))
			}
			synctest.Wait()
			if got := provider.Strays() - before; got != map[bool]int64{true: 1}[deaf] {
				t.Errorf("deaf %t: %d strays", deaf, got)
			}
			time.Sleep(2 * time.Hour) // the late answer comes, and changes nothing
			synctest.Wait()
			if got := provider.Strays() - before; got != 0 || len(h.calls) != 1 {
				t.Errorf("deaf %t: %d strays, %d records after the late answer", deaf, got, len(h.calls))
			}
			if diff := cmp.Diff([]bool{true}, h.breakers); diff != "" {
				t.Errorf("deaf %t: the late answer touched the breaker: %s", deaf, diff)
			}
		})
	}
}

func TestTheCallersEndIsNoFailureOfTheProvider(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			h := &heard{}
			cfg.Observer, cfg.Breaker = h, provider.NewBreaker(provider.BreakerConfig{Failures: 1})
			g := provider.Guard(hangs(t, deaf), cfg)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			started := time.Now()
			_, err := ask(ctx, g)
			if e, ok := provider.AsError(err); !ok || says(e) != "network/aborted next:no again:no timeout" || time.Since(started) != time.Second {
				t.Errorf("%v after %v", err, time.Since(started))
			}
			ctx, cancel = context.WithTimeout(t.Context(), time.Second) // the attempt's own time is the provider's
			defer cancel()
			_, err = ask(ctx, g)
			if e, ok := provider.AsError(err); !ok || says(e) != "network/timeout next:yes again:yes timeout" {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff([]bool{true}, h.breakers); diff != "" || len(h.calls) != 2 || h.calls[0].Reason != provider.ReasonAborted {
				t.Errorf("%v: %s", h.calls, diff)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

func TestTokenTimersCountTokensAndNotBytes(t *testing.T) {
	ping := provider.Chunk{}
	tool := provider.Chunk{Tool: true}
	limits := provider.Timeouts{FirstToken: 3 * time.Second, Idle: 5 * time.Second, Total: time.Minute}
	s := time.Second
	for _, c := range []struct {
		name   string
		client *fake
		want   string
		at     time.Duration
		first  time.Duration
	}{
		{"in time", script(2*s, "a", 4*s, "b", 4*s), "ab", 10 * s, 2 * s},
		{"first token late", script(4*s, "a"), "network/first_token_timeout next:yes again:yes timeout", 3 * s, 0},
		{"pings are no token", script(s, ping, s, ping, s, ping, s, "a"), "network/first_token_timeout next:yes again:yes timeout", 3 * s, 0},
		{"empty text is no token", script(s, part(""), s, part(""), 2*s, "a"), "network/first_token_timeout next:yes again:yes timeout", 3 * s, 0},
		{"a tool call is a token", script(2*s, tool, 4*s, "a"), "a", 6 * s, 2 * s},
		{"stalls", script(2*s, "a", 6*s, "b"), "network/idle_timeout next:no again:yes timeout", 7 * s, 2 * s},
		{"stalls with pings", script(2*s, "a", 4*s, ping, 4*s, ping, "b"), "network/idle_timeout next:no again:yes timeout", 7 * s, 2 * s},
		{"stalls before its end", script("a", 9*s), "network/idle_timeout next:no again:yes timeout", 5 * s, 1},
		{"total", script(2*s, "a", 4*s, "b", 4*s, "c", 4*s, "d", 4*s, "e", 4*s, "f", 4*s, "g", 4*s, "h", 4*s, "i", 4*s, "j", 4*s, "k", 4*s, "l", 4*s, "m", 4*s, "n", 4*s, "o", 4*s), "network/timeout next:no again:yes timeout", 60 * s, 2 * s},
	} {
		for _, stream := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				h := &heard{}
				started := time.Now()
				answer, err := ask(t.Context(), provider.Guard(c.client, provider.GuardConfig{Timeouts: limits, Stream: true, Observer: h}), stream)
				got := answer.Text.Reveal()
				if e, ok := provider.AsError(err); ok {
					got = says(e)
				}
				if got != c.want || time.Since(started) != c.at || h.calls[0].FirstToken != c.first || h.calls[0].Duration != c.at {
					t.Errorf("%s: %s after %v, first token after %v, want %s", c.name, got, time.Since(started), h.calls[0].FirstToken, c.want)
				}
			})
		}
	}
}

func TestASlowReaderIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := provider.Guard(script("a", "b", "c"), provider.GuardConfig{Timeouts: provider.Timeouts{Idle: time.Second}})
		for _, err := range g.Stream(t.Context(), provider.Request{}) {
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestEachCallIsRecordedOnceWhateverBecomesOfIt(t *testing.T) {
	scope := provider.Scope{Run: "default.x", Flow: "f", Step: executor.MustStepID("s"), Attempt: 2}
	base := provider.Call{Provider: primary, ModelProvider: openai, Requested: cfgModel, Model: cfgModel, Scope: scope}
	with := func(change func(*provider.Call)) provider.Call {
		c := base
		change(&c)
		return c
	}
	for _, c := range []struct {
		name   string
		client *fake
		want   provider.Call
	}{
		{"answered", answers(t, "primary"), with(func(c *provider.Call) {
			c.Model, c.Usage = executor.ModelVersionOf("m-primary"), executor.Tokens(10, 1)
		})},
		{"failed", fails(t, "primary", limited), with(func(c *provider.Call) {
			c.Kind, c.Status, c.Usage = provider.KindRateLimit, 429, executor.Tokens(100, 0)
		})},
		{"refused", fails(t, "primary", provider.Signal{Seen: provider.SeenRefusal}), with(func(c *provider.Call) {
			c.Kind, c.Reason, c.Usage = provider.KindOutputValidation, provider.ReasonRefusal, executor.Tokens(100, 0)
		})},
		{"foreign error", breaksWith(errors.New(canary)), with(func(c *provider.Call) { c.Kind = provider.KindProviderError })},
		{"panicked", panics(canary), with(func(c *provider.Call) { c.Kind = provider.KindProviderError })},
	} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			h := &heard{}
			cfg.Observer = h
			_, _ = ask(provider.WithScope(t.Context(), scope), provider.Guard(c.client, cfg))
			if diff := cmp.Diff([]provider.Call{c.want}, h.calls, sameCall); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		})
	}
}

// sameCall compares records by ==, but for the time of their first token, which only streams have.
var sameCall = cmp.Comparer(func(a, b provider.Call) bool { a.FirstToken, b.FirstToken = 0, 0; return a == b })

func breaksWith(err error) *fake {
	return &fake{name: primary, do: func(context.Context, int) (provider.Response, error) { return provider.Response{}, err }}
}

func panics(v any) *fake {
	return &fake{name: primary, do: func(context.Context, int) (provider.Response, error) { panic(v) }}
}

func TestAStreamThatIsLeftIsRecordedAsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		b := provider.NewBreaker(provider.BreakerConfig{Failures: 1})
		g := provider.Guard(script("a", time.Second, "b"), provider.GuardConfig{Observer: h, Breaker: b})
		for _, err := range g.Stream(t.Context(), provider.Request{}) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		func() {
			defer func() { _ = recover() }()
			for _, err := range g.Stream(t.Context(), provider.Request{}) {
				panic(fmt.Sprint("the reader's own", err))
			}
		}()
		synctest.Wait()
		if len(h.calls) != 2 || h.calls[0].Reason != provider.ReasonAborted || h.calls[1].Reason != provider.ReasonAborted || h.breakers != nil {
			t.Errorf("%v, breaker %v", h.calls, h.breakers)
		}
	})
}

func TestErrorsThatAreNoProvidersAreJudged(t *testing.T) {
	for _, c := range []struct {
		name   string
		client *fake
		want   string
	}{
		{"nobody knows it", breaksWith(errors.New(canary)), "provider_error next:yes again:yes parse"},
		{"broken call", breaksWith(&netError{}), "network next:yes again:yes upstream-5xx"},
		{"timer", breaksWith(context.DeadlineExceeded), "network/timeout next:yes again:yes timeout"},
	} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			_, err := ask(t.Context(), provider.Guard(c.client, cfg))
			if e, ok := provider.AsError(err); !ok || says(e) != c.want || e.Provider() != primary || strings.Contains(prints(err), canary) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

func TestAnUnknownErrorOfACallThatWasLeftIsItsEnd(t *testing.T) {
	for range 20 { // the two ends come at the same time
		ctx, leave := context.WithCancel(t.Context())
		f := &fake{name: primary, do: func(context.Context, int) (provider.Response, error) {
			leave()
			return provider.Response{}, errors.New(canary)
		}}
		_, err := provider.Guard(f, provider.GuardConfig{}).Complete(ctx, provider.Request{})
		if e, ok := provider.AsError(err); !ok || e.Reason() != provider.ReasonAborted {
			t.Fatal(err)
		}
	}
}

func TestThereIsNoTextBesideAnError(t *testing.T) {
	each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
		f := &fake{name: primary, do: func(context.Context, int) (provider.Response, error) { return said("half"), provider.Judge(down) }}
		answer, err := ask(t.Context(), provider.Guard(f, cfg))
		if err == nil || answer.Text.Reveal() != "" || answer.Usage != executor.Tokens(10, 1) || answer.Model.String() != "m-half" {
			t.Errorf("%v by %v for %v, %v", answer.Text.Reveal(), answer.Model, answer.Usage, err)
		}
	})
}

func TestAPanicOfAClientIsContained(t *testing.T) {
	for _, c := range []struct {
		name  string
		panic func()
		want  string
	}{
		{"of a value", func() { panic(canary) }, "string"},
		{"of a pointer", func() { panic(&netError{}) }, "*provider_test.netError"},
		{"of a type without a name", func() { panic(struct{ A int }{1}) }, "struct"},
		{"of the runtime", func() { _ = make([]int, 1)[len(canary)] }, "runtime.boundsError"},
		{"of an ended goroutine", runtime.Goexit, "runtime.Goexit"},
	} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			cfg.Breaker = provider.NewBreaker(provider.BreakerConfig{Failures: 1})
			h := &heard{}
			cfg.Observer = h
			f := &fake{name: primary, do: func(context.Context, int) (provider.Response, error) { c.panic(); return said("x"), nil }}
			_, err := ask(t.Context(), provider.Guard(f, cfg))
			if e, ok := errors.AsType[*executor.PanicError](err); !ok || !strings.HasSuffix(e.Type, c.want) || h.breakers != nil {
				t.Errorf("%s: %v, breaker %v", c.name, err, h.breakers)
			}
		})
	}
}

type netError struct{}

func (*netError) Error() string { return canary }
func (*netError) Unwrap() error { return syscall.ECONNRESET }
