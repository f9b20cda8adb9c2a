package provider_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
)

// guarded puts a breaker around a client that opens after failures.
func guarded(f *fake, failures int, cooldown time.Duration) provider.Client {
	return provider.Guard(f, provider.GuardConfig{Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: failures, Cooldown: cooldown})})
}

func TestOnlyTheProvidersOwnFailuresOpenItsBreaker(t *testing.T) {
	opens := map[provider.Kind]bool{provider.KindNetwork: true, provider.KindRateLimit: true, provider.KindProviderError: true}
	for s := range everySignal {
		if s.Status%100 > 31 || s.RetryAfter > 0 {
			continue
		}
		h := &heard{}
		g := provider.Guard(fails(t, "primary", s), provider.GuardConfig{Observer: h, Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: 1})})
		_, err := g.Complete(t.Context(), provider.Request{})
		e, _ := provider.AsError(err)
		want := opens[e.Kind()] && e.Reason() != provider.ReasonAborted && e.Reason() != provider.ReasonBreakerOpen
		if got := len(h.breakers) == 1; got != want {
			t.Fatalf("%v: opened %t", err, got)
		}
	}
}

func TestAnOpenProviderIsPassedOverUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := fails(t, "a", down), answers(t, "b")
		h := &heard{}
		chain := provider.NewChain(guarded(a, 3, 10*time.Second), b).With(provider.ObserveChain(h))
		for range 20 {
			if answer, err := chain.Complete(t.Context(), provider.Request{}); err != nil || answer.Provider != b.name {
				t.Fatal(err)
			}
		}
		if a.calls() != 3 || b.calls() != 20 || len(h.moves) != 20 {
			t.Errorf("the failing one was asked %d times, the other %d times, %d moves", a.calls(), b.calls(), len(h.moves))
		}
		a.does(answers(t, "a").do)
		time.Sleep(10 * time.Second)
		if answer, err := chain.Complete(t.Context(), provider.Request{}); err != nil || answer.Provider != a.name {
			t.Errorf("not back on the first: %v, %v", answer.Provider, err)
		}
	})
}

// fifty asks at once, and sorts what comes back.
func fifty(ctx context.Context, c provider.Client) (answered, refused, parked int, one executor.Failure) {
	endings := make(chan error, 50)
	for range cap(endings) {
		go func() {
			_, err := c.Complete(ctx, provider.Request{})
			endings <- err
		}()
	}
	for range cap(endings) {
		err := <-endings
		e, _ := provider.AsError(err)
		switch _, waits := errors.AsType[*executor.Parked](err); {
		case err == nil:
			answered++
		case waits:
			parked++
		case e.Reason() == provider.ReasonBreakerOpen:
			refused++
			one = e.Failure()
		}
	}
	one.Err = nil
	return answered, refused, parked, one
}

func TestTheBreakerOpensOnAChainOfOneAndNoCallIsMadeUntilItsProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fails(t, "a", down)
		chain := provider.NewChain(guarded(a, 5, 10*time.Second))
		for range 5 {
			_, _ = chain.Complete(t.Context(), provider.Request{})
		}
		time.Sleep(9 * time.Second)
		_, refused, _, got := fifty(t.Context(), chain)
		if a.calls() != 5 || refused != 50 {
			t.Errorf("%d calls, %d refused", a.calls(), refused)
		}
		want := executor.Failure{Class: executor.ClassUpstream5xx, Retry: executor.RetryYes, RetryAfter: time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Second)
		answer := answers(t, "a").do
		a.does(func(ctx context.Context, n int) (provider.Response, error) {
			time.Sleep(3 * time.Second)
			return answer(ctx, n)
		})
		if answered, refused, _, _ := fifty(t.Context(), chain); answered != 1 || refused != 49 || a.calls() != 6 {
			t.Errorf("half-open: %d answered, %d refused, %d calls", answered, refused, a.calls())
		}
		if answered, _, _, _ := fifty(t.Context(), chain); answered != 50 {
			t.Errorf("closed: %d answered", answered)
		}
	})
}

// When a provider is back, those who have waited for it find its probe under way, and must not pay for that with an attempt.
func TestWhoFindsAProbeUnderWayIsParkedWhereThatCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fails(t, "a", down)
		chain := provider.NewChain(provider.Guard(a, provider.GuardConfig{
			Gate: &gate{}, Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: 1, Cooldown: 10 * time.Second}),
		}))
		_, _ = chain.Complete(t.Context(), provider.Request{})
		if _, refused, parked, _ := fifty(t.Context(), chain); refused != 50 || parked != 0 {
			t.Errorf("open: %d refused, %d parked", refused, parked)
		}
		time.Sleep(10 * time.Second)
		answer := answers(t, "a").do
		a.does(func(ctx context.Context, n int) (provider.Response, error) {
			time.Sleep(3 * time.Second)
			return answer(ctx, n)
		})
		if answered, refused, parked, _ := fifty(t.Context(), chain); answered != 1 || refused != 0 || parked != 49 {
			t.Errorf("half-open: %d answered, %d refused, %d parked", answered, refused, parked)
		}
	})
}

func TestWhenAllAreOpenTheOneThatOpensSoonestIsAsked(t *testing.T) {
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b, c := fails(t, "a", down), fails(t, "b", down), fails(t, "c", limited)
			chain := provider.NewChain(guarded(a, 1, time.Minute), guarded(b, 1, 10*time.Second), guarded(c, 1, 30*time.Second))
			_, _ = ask(t.Context(), chain, stream)
			time.Sleep(time.Second)
			_, err := ask(t.Context(), chain, stream)
			if err == nil || err.Error() != "provider b: provider_error status 503" || a.calls() != 1 || b.calls() != 2 || c.calls() != 1 {
				t.Errorf("%v; asked %d, %d and %d times", err, a.calls(), b.calls(), c.calls())
			}
			b.does(answers(t, "b").do)
			if answer, err := ask(t.Context(), chain, stream); err != nil || answer.Provider != b.name || a.calls() != 1 {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestWhoAsksToBeLeftAloneIsNotAskedEvenWhenAllAreOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := fails(t, "a", after(limited, 40*time.Second)), fails(t, "b", after(limited, 15*time.Second))
		chain := provider.NewChain(guarded(a, 5, time.Second), guarded(b, 5, time.Second))
		_, _ = chain.Complete(t.Context(), provider.Request{})
		_, err := chain.Complete(t.Context(), provider.Request{})
		if a.calls() != 1 || b.calls() != 1 || executor.Classify(err).RetryAfter != 15*time.Second {
			t.Errorf("asked %d and %d times, again after %v", a.calls(), b.calls(), executor.Classify(err).RetryAfter)
		}
	})
}

// TestTheProbeIsReleasedOnEveryPath opens a breaker, lets a probe end in some way, and looks whether another may follow.
func TestTheProbeIsReleasedOnEveryPath(t *testing.T) {
	answer := func(context.Context, int) (provider.Response, error) { return said("x"), nil }
	hang := func(ctx context.Context, _ int) (provider.Response, error) {
		<-ctx.Done()
		return provider.Response{}, provider.Judge(provider.FromError(ctx, ctx.Err()))
	}
	deaf := func(context.Context, int) (provider.Response, error) {
		time.Sleep(time.Hour)
		return said("late"), nil
	}
	for _, c := range []struct {
		name string
		do   func(context.Context, int) (provider.Response, error)
		left bool // the reader leaves the stream, or the caller its call
		gate func(context.Context) error
	}{
		{"success", answer, false, nil},
		{"failure", fails(t, "primary", down).do, false, nil},
		{"mistake of ours", fails(t, "primary", badly).do, false, nil},
		{"abort", hang, true, nil},
		{"timeout", hang, false, nil},
		{"deaf client", deaf, false, nil},
		{"panic", panics("x").do, false, nil},
		{"parked", answer, false, func(context.Context) error { return &executor.Parked{} }},
		{"panic of the gate", answer, false, func(context.Context) error { panic("gate") }},
		{"left at the gate", answer, true, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
	} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			f, g := fails(t, "primary", down), &gate{}
			cfg.Breaker, cfg.Gate = provider.NewBreaker(provider.BreakerConfig{Failures: 1, Cooldown: 10 * time.Second}), g
			cfg.Timeouts.Total = time.Minute
			guarded := provider.Guard(f, cfg)
			_, _ = ask(t.Context(), guarded)
			time.Sleep(10 * time.Second)

			f.does(c.do)
			g.enter = c.gate
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.left {
				time.AfterFunc(time.Second, cancel)
			}
			func() {
				defer func() { _ = recover() }()
				_, _ = ask(ctx, guarded)
			}()

			f.does(answer)
			g.enter = nil
			time.Sleep(10 * time.Second)
			if _, err := ask(t.Context(), guarded); err != nil {
				t.Errorf("%s: the probe is still held: %v", c.name, err)
			}
			time.Sleep(2 * time.Hour)
		})
	}
	t.Run("abandoned stream", func(t *testing.T) {
		f := fails(t, "primary", down)
		g := guarded(f, 1, time.Nanosecond)
		_, _ = g.Complete(t.Context(), provider.Request{})
		f.parts = func(context.Context, int) iter.Seq2[provider.Chunk, error] {
			return func(yield func(provider.Chunk, error) bool) { yield(part("x"), nil) }
		}
		for _, err := range g.Stream(t.Context(), provider.Request{}) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		f.does(answer)
		if _, err := g.Complete(t.Context(), provider.Request{}); err != nil {
			t.Errorf("the probe is still held: %v", err)
		}
	})
}

func TestAParkedCallSaysWhetherItWaitsForALimitOrForAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := func(f *fake, g *gate) provider.Client {
			return provider.Guard(f, provider.GuardConfig{
				Gate: g, Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: 1, Cooldown: 10 * time.Second}),
			})
		}
		limited := held(fails(t, "limited", after(limited, 20*time.Second)), &gate{})
		busy := held(answers(t, "busy"), &gate{enter: func(context.Context) error { return &executor.Parked{NotBefore: time.Now().Add(4 * time.Second)} }})
		dead := held(fails(t, "dead", down), &gate{})
		slow := fails(t, "probed", down)
		probed := held(slow, &gate{})
		for _, c := range []provider.Client{limited, dead, probed} {
			_, _ = c.Complete(t.Context(), provider.Request{})
		}
		slow.does(func(context.Context, int) (provider.Response, error) {
			time.Sleep(time.Minute)
			return said("x"), nil
		})
		time.Sleep(10 * time.Second)
		go func() { _, _ = probed.Complete(t.Context(), provider.Request{}) }()
		synctest.Wait()
		_, _ = dead.Complete(t.Context(), provider.Request{}) // open again for ten seconds
		time.Sleep(2 * time.Second)
		for _, c := range []struct {
			name  string
			chain *provider.Chain
			want  executor.FailureClass
			after time.Duration // zero: not parked
		}{
			{"told to stay away", provider.NewChain(limited), executor.ClassUpstream4xx, 8 * time.Second},
			{"a probe", provider.NewChain(probed), executor.ClassUpstream5xx, time.Second},
			{"the gate", provider.NewChain(busy), executor.ClassNone, 4 * time.Second},
			{"the gate, and one dead", provider.NewChain(busy, dead), executor.ClassNone, 4 * time.Second},
			{"one dead, and the gate", provider.NewChain(dead, busy), executor.ClassNone, 4 * time.Second},
			{"the gate, and a probe", provider.NewChain(busy, probed), executor.ClassUpstream5xx, time.Second},
			{"one dead", provider.NewChain(dead), executor.ClassNone, 0},
		} {
			_, err := c.chain.Complete(t.Context(), provider.Request{})
			parked, ok := errors.AsType[*executor.Parked](err)
			switch {
			case ok != (c.after > 0):
				t.Errorf("%s: %v", c.name, err)
			case ok && (parked.Class != c.want || time.Until(parked.NotBefore) != c.after):
				t.Errorf("%s: for %v, %v; want %v, %v", c.name, parked.Class, time.Until(parked.NotBefore), c.want, c.after)
			}
		}
		time.Sleep(time.Hour)
	})
}

func TestNobodyWasAskedWhenEveryBreakerRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := func(name string, cooldown time.Duration) provider.Client {
			c := guarded(fails(t, name, down), 1, cooldown)
			_, _ = c.Complete(t.Context(), provider.Request{})
			return c
		}
		for _, c := range []struct {
			name  string
			chain *provider.Chain
			after time.Duration
			want  bool
		}{
			{"one, open", provider.NewChain(dead("a", 10*time.Second)), 10 * time.Second, true},
			{"one, failing", provider.NewChain(fails(t, "a", down)), 0, false},
			{"one, well", provider.NewChain(answers(t, "a")), 0, false},
			{"open, then failing", provider.NewChain(dead("a", 10*time.Second), fails(t, "b", down)), 0, false},
			{"two, open: one is asked", provider.NewChain(dead("a", 10*time.Second), dead("b", time.Second)), 0, false},
		} {
			_, err := c.chain.Complete(t.Context(), provider.Request{})
			after, got := provider.NotAsked(err)
			if got != c.want || got && after != c.after {
				t.Errorf("%s: %t after %v (%v)", c.name, got, after, err)
			}
		}
	})
}
