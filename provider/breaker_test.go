package provider

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start is when the breaker tests begin. They hand in every time, and so need no clock.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type breakerTest struct {
	*testing.T
	b   *Breaker
	now time.Time
}

func newBreakerTest(t *testing.T) *breakerTest {
	return &breakerTest{T: t, b: NewBreaker(BreakerConfig{Failures: 3, Cooldown: 10 * time.Second}), now: start}
}

// call makes a call that reports r at once; false: it was refused.
func (t *breakerTest) call(r report) bool {
	ticket, refused := t.b.enter(t.now, false)
	if refused == nil {
		t.b.leave(ticket, r, 0, t.now)
	}
	return refused == nil
}

func (t *breakerTest) open() {
	for range 3 {
		t.call(saysDown)
	}
}

// state is what a caller sees of the breaker.
func (t *breakerTest) state() string {
	at, shut := t.b.opensAt(t.now)
	switch {
	case shut:
		return "shut for " + max(at.Sub(t.now), 0).String()
	case t.b.open:
		return "half-open"
	}
	return "closed"
}

func (t *breakerTest) want(state string) {
	t.Helper()
	if got := t.state(); got != state {
		t.Fatalf("%s, want %s", got, state)
	}
}

func TestConsecutiveFailuresOpenTheBreaker(t *testing.T) {
	for _, c := range []struct {
		name    string
		reports []report
		want    string
	}{
		{"three", []report{saysDown, saysDown, saysDown}, "shut for 10s"},
		{"two", []report{saysDown, saysDown}, "closed"},
		{"an answer between", []report{saysDown, saysDown, saysUp, saysDown, saysDown}, "closed"},
		{"an aborted call between", []report{saysDown, saysDown, saysNothing, saysDown}, "shut for 10s"},
		{"answers and aborted calls", []report{saysUp, saysNothing, saysUp, saysNothing, saysNothing}, "closed"},
	} {
		b := newBreakerTest(t)
		for _, r := range c.reports {
			b.call(r)
		}
		if got := b.state(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestHalfOpenLetsOneCallThroughAndItsEndDecides(t *testing.T) {
	for _, c := range []struct {
		name string
		r    report
		want string
	}{{"answers", saysUp, "closed"}, {"fails", saysDown, "shut for 10s"}, {"is aborted", saysNothing, "half-open"}} {
		b := newBreakerTest(t)
		b.open()
		b.now = start.Add(10*time.Second - 1)
		if b.call(saysUp) {
			t.Fatal("a call went through an open breaker")
		}
		b.now = start.Add(10 * time.Second)
		b.want("half-open")
		probe, refused := b.b.enter(b.now, false)
		if refused != nil {
			t.Fatal("no call goes through a half-open breaker")
		}
		if b.call(saysUp) {
			t.Fatal("a second call went through a half-open breaker")
		}
		_, refused = b.b.enter(b.now, true)
		if refused == nil || !refused.until.After(b.now) {
			t.Fatal("a forced call went through beside the probe, or was told to come back at once")
		}
		b.b.leave(probe, c.r, 0, b.now)
		b.want(c.want)
	}
}

func TestAClosedBreakerCountsAnew(t *testing.T) {
	b := newBreakerTest(t)
	b.open()
	b.now = b.now.Add(10 * time.Second)
	b.call(saysUp)
	b.call(saysDown)
	b.call(saysDown)
	b.want("closed")
	b.call(saysDown)
	b.want("shut for 10s")
}

func TestAForcedCallIsTheOneCallOfAnOpenBreaker(t *testing.T) {
	b := newBreakerTest(t)
	b.open()
	forced, refused := b.b.enter(b.now, true)
	if refused != nil {
		t.Fatal("refused")
	}
	if _, refused := b.b.enter(b.now, true); refused == nil {
		t.Fatal("two at once")
	}
	if open, changed := b.b.leave(forced, saysUp, 0, b.now); open || !changed {
		t.Error("its answer does not close the breaker")
	}
}

func TestCallsThatBeganBeforeAChangeAreNotHeard(t *testing.T) {
	b := newBreakerTest(t)
	var old []ticket
	for range 6 {
		ticket, _ := b.b.enter(b.now, false)
		old = append(old, ticket)
	}
	b.open()
	b.b.leave(old[0], saysUp, 0, b.now) // an answer that was on its way
	b.want("shut for 10s")
	b.now = b.now.Add(5 * time.Second)
	b.b.leave(old[1], saysDown, 0, b.now)
	b.want("shut for 5s")
	b.now = b.now.Add(5 * time.Second)
	b.call(saysUp)
	for _, late := range old[2:] {
		b.b.leave(late, saysDown, 0, b.now)
	}
	b.want("closed")
}

func TestRetryAfterShutsTheProviderAndTheLatestTimeCounts(t *testing.T) {
	limited := func(b *breakerTest, d time.Duration) {
		ticket, refused := b.b.enter(b.now, true)
		if refused != nil {
			t.Fatal("refused")
		}
		b.b.leave(ticket, saysDown, d, b.now)
	}
	t.Run("from the first one on", func(t *testing.T) {
		b := newBreakerTest(t)
		limited(b, 2*time.Second)
		b.want("shut for 2s")
		if _, refused := b.b.enter(b.now, true); refused == nil || !refused.byOwner {
			t.Error("a forced call went through although the provider asked to be left alone")
		}
		b.now = b.now.Add(2 * time.Second)
		b.want("closed")
	})
	t.Run("longer than the cooldown", func(t *testing.T) {
		b := newBreakerTest(t)
		b.call(saysDown)
		b.call(saysDown)
		limited(b, time.Minute)
		b.want("shut for 1m0s")
		b.now = b.now.Add(time.Minute)
		b.want("half-open")
	})
	t.Run("shorter than the cooldown", func(t *testing.T) {
		b := newBreakerTest(t)
		b.call(saysDown)
		b.call(saysDown)
		limited(b, time.Second)
		b.want("shut for 10s")
		if _, refused := b.b.enter(b.now, false); refused == nil || refused.until.Sub(b.now) != 10*time.Second {
			t.Error("told to come back while it is still open")
		}
	})
	t.Run("a shorter one does not end a longer one", func(t *testing.T) {
		b := newBreakerTest(t)
		first, _ := b.b.enter(b.now, false)
		second, _ := b.b.enter(b.now, false)
		b.b.leave(first, saysDown, 30*time.Second, b.now)
		b.b.leave(second, saysDown, time.Second, b.now)
		b.want("shut for 30s")
	})
	t.Run("at most an hour", func(t *testing.T) {
		b := newBreakerTest(t)
		limited(b, 55*time.Hour)
		b.want("shut for 1h0m0s")
	})
}

func TestAnotherBreakerHasItsDefaults(t *testing.T) {
	b := NewBreaker(BreakerConfig{})
	if diff := cmp.Diff([]any{5, 10 * time.Second}, []any{b.failures, b.cooldown}); diff != "" {
		t.Error(diff)
	}
}
