package provider

import (
	"sync"
	"time"
)

// BreakerConfig says when a breaker opens. Zero values mean the defaults named.
type BreakerConfig struct {
	Failures int           // consecutive failures that open it; 5
	Cooldown time.Duration // how long it stays open at least; 10s
}

const (
	defaultFailures = 5
	defaultCooldown = 10 * time.Second
	// longestHold bounds how long a Retry-After keeps a provider shut: quotas are raised and headers are wrong, and one call
	// an hour finds out.
	longestHold = time.Hour
)

// Breaker keeps calls from a provider and model that keeps failing. Guard asks it; one may be shared by the guards of the same
// provider and model. Network, rate_limit and provider_error are failures; every other answer shows that the provider is there,
// whatever it was; a call that its caller ended says nothing.
//
// After so many consecutive failures it opens. When the cooldown is over it is half-open: one call at a time is let through, and
// its end closes the breaker or opens it again. Apart from that a 429 with Retry-After shuts the provider until then, from the
// first one on. Safe for many goroutines.
type Breaker struct {
	failures int
	cooldown time.Duration

	mu      sync.Mutex
	failed  int       // consecutive failures while closed
	open    bool      // open or half-open
	until   time.Time // half-open from then on
	hold    time.Time // shut until then, because the provider said so
	probing bool      // the one call is under way
	era     uint64    // counts changes: who entered in an earlier one is not heard
}

// NewBreaker returns a closed breaker.
func NewBreaker(cfg BreakerConfig) *Breaker {
	b := &Breaker{failures: cfg.Failures, cooldown: cfg.Cooldown}
	if b.failures <= 0 {
		b.failures = defaultFailures
	}
	if b.cooldown <= 0 {
		b.cooldown = defaultCooldown
	}
	return b
}

// ticket is given to a call that may be made, and handed back once when it is over.
type ticket struct {
	era   uint64
	probe bool
}

// refusal says why a call may not be made.
type refusal struct {
	until   time.Time // when to ask again
	byOwner bool      // the provider itself asked to be left alone until then
	probing bool      // the one call of a half-open breaker is under way, and nobody knows yet how it ends
}

// enter asks whether a call may be made now. force asks although the breaker is open, as its one call.
func (b *Breaker) enter(now time.Time, force bool) (ticket, *refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case now.Before(b.hold):
		return ticket{}, &refusal{until: latest(b.hold, b.until), byOwner: true}
	case !b.open:
		return ticket{era: b.era}, nil
	case b.probing:
		return ticket{}, &refusal{until: latest(b.until, now.Add(b.cooldown/10)), probing: !now.Before(b.until)}
	case now.Before(b.until) && !force:
		return ticket{}, &refusal{until: b.until}
	}
	b.probing = true
	return ticket{era: b.era, probe: true}, nil
}

// opensAt returns when calls are let through again; false: they are now.
func (b *Breaker) opensAt(now time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shut := now.Before(b.hold) || b.open && (b.probing || now.Before(b.until))
	return latest(b.hold, b.until), shut
}

// report is what a call says of the provider.
type report uint8

const (
	saysNothing report = iota
	saysUp
	saysDown
)

// leave takes the ticket back. changed: the breaker has opened or closed.
func (b *Breaker) leave(t ticket, r report, retryAfter time.Duration, now time.Time) (open, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.probe {
		b.probing = false
	}
	if retryAfter > 0 {
		b.hold = latest(b.hold, now.Add(min(retryAfter, longestHold)))
	}
	if t.era != b.era || r == saysNothing {
		return b.open, false
	}
	was := b.open
	switch {
	case r == saysUp:
		b.failed, b.open, b.until = 0, false, time.Time{}
	case t.probe:
		b.until = now.Add(b.cooldown)
	default:
		if b.failed++; b.failed >= b.failures {
			b.open, b.until = true, now.Add(b.cooldown)
		}
	}
	if b.open != was {
		b.era++
	}
	return b.open, b.open != was
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
