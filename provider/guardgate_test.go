package provider_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
)

// gate is a gate that does what it is told.
type gate struct {
	mu     sync.Mutex
	enter  func(ctx context.Context) error
	inside int
	closed []time.Duration
}

func (g *gate) Enter(ctx context.Context, _ provider.Name) (func(), error) {
	if g.enter != nil {
		if err := g.enter(ctx); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inside--
	}), nil
}

func (g *gate) Close(ctx context.Context, _ provider.Name, until time.Time) {
	if ctx.Err() != nil {
		return // nobody hears it
	}
	g.closed = append(g.closed, time.Until(until))
}

func TestThePlaceAtTheGateIsGivenBackOnEveryPath(t *testing.T) {
	for name, client := range map[string]*fake{
		"answered": answers(t, "primary"), "failed": fails(t, "primary", down), "panicked": panics("x"), "hung": hangs(t, false), "deaf": hangs(t, true),
	} {
		each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
			g := &gate{}
			cfg.Gate, cfg.Timeouts.Total = g, time.Second
			_, _ = ask(t.Context(), provider.Guard(client, cfg))
			if g.inside != 0 {
				t.Errorf("%s: %d places are still taken", name, g.inside)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

func TestTheGateDecidesWhetherACallIsMade(t *testing.T) {
	later := time.Now().Add(time.Minute)
	each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
		g, h, client := &gate{}, &heard{}, answers(t, "primary")
		cfg.Gate, cfg.Observer, cfg.Timeouts.Total = g, h, time.Second
		cfg.Breaker = provider.NewBreaker(provider.BreakerConfig{Failures: 1})
		guarded := provider.Guard(client, cfg)

		g.enter = func(context.Context) error { return &executor.Parked{NotBefore: later} }
		if _, err := ask(t.Context(), guarded); err == nil || client.calls() != 0 || len(h.calls) != 0 {
			t.Errorf("parked: %v, %d calls, %d records", err, client.calls(), len(h.calls))
		}
		ctx, cancel := context.WithCancel(t.Context())
		g.enter = func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }
		_, err := ask(ctx, guarded)
		if e, ok := provider.AsError(err); !ok || e.Reason() != provider.ReasonAborted || client.calls() != 0 {
			t.Errorf("left while waiting: %v, %d calls", err, client.calls())
		}
		g.enter = func(context.Context) error { time.Sleep(5 * time.Second); return nil } // no part of the call's time
		if _, err := ask(t.Context(), guarded); err != nil || h.calls[0].Duration != 0 {
			t.Errorf("waited for a place: %v", err)
		}
		g.enter = func(context.Context) error { return errors.New("redis is down") }
		if _, err := ask(t.Context(), guarded); err != nil {
			t.Errorf("a gate out of order stops calls: %v", err)
		}
	})
}

func TestWhatIsParkedWithinIsNoCall(t *testing.T) {
	each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
		h := &heard{}
		cfg.Observer, cfg.Breaker = h, provider.NewBreaker(provider.BreakerConfig{Failures: 1})
		_, err := ask(t.Context(), provider.Guard(parks(t, "primary", time.Now()), cfg))
		if _, ok := errors.AsType[*executor.Parked](err); !ok || h.calls != nil || h.breakers != nil {
			t.Errorf("%v, records %v, breaker %v", err, h.calls, h.breakers)
		}
	})
}

func TestA429ThatSaysUntilWhenClosesTheProvider(t *testing.T) {
	each(t, func(t *testing.T, cfg provider.GuardConfig, ask func(context.Context, provider.Client) (provider.Response, error)) {
		g, client := &gate{}, fails(t, "primary", after(limited, 20*time.Second))
		cfg.Gate, cfg.Breaker = g, provider.NewBreaker(provider.BreakerConfig{})
		_, _ = ask(t.Context(), provider.Guard(client, cfg))
		if diff := cmp.Diff([]time.Duration{20 * time.Second}, g.closed); diff != "" {
			t.Error(diff)
		}
		_, err := ask(t.Context(), provider.NewChain(provider.Guard(client, cfg)))
		if parked, ok := errors.AsType[*executor.Parked](err); !ok || time.Until(parked.NotBefore) != 20*time.Second || client.calls() != 1 {
			t.Errorf("with a gate: %v after %d calls", err, client.calls())
		}
		cfg.Gate = nil
		_, err = ask(t.Context(), provider.NewChain(provider.Guard(client, cfg)))
		f := executor.Classify(err)
		if f.Class != executor.ClassUpstream4xx || f.Retry != executor.RetryYes || f.RetryAfter != 20*time.Second || client.calls() != 1 {
			t.Errorf("without a gate: %v, %v after %d calls", err, f.RetryAfter, client.calls())
		}
		time.Sleep(20 * time.Second)
		if _, _ = ask(t.Context(), provider.Guard(client, cfg)); client.calls() != 2 {
			t.Error("still closed when the time has come")
		}
	})
}
