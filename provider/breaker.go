package provider

import "time"

// BreakerConfig: zero values mean the defaults named.
type BreakerConfig struct {
	Failures int           // consecutive failures that open it; 5
	Cooldown time.Duration // 10s
}

// Breaker stops calls to a provider that keeps failing.
type Breaker struct{}

func NewBreaker(BreakerConfig) *Breaker { panic("unbuilt") }
