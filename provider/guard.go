package provider

import (
	"time"

	"fourfold/executor"
)

// Timeouts bound one call; zero means no bound but the attempt's.
type Timeouts struct {
	Total      time.Duration
	FirstToken time.Duration
	Idle       time.Duration // between tokens
}

// GuardConfig is what Guard puts around a client.
type GuardConfig struct {
	ModelProvider ModelProvider
	Model         executor.ModelVersion // configured; for records of failed calls
	Timeouts      Timeouts
	Stream        bool     // answer Complete by streaming, so that the token timers work
	Breaker       *Breaker // nil: none
	Gate          Gate     // nil: no limit
	Observer      Observer // nil: nobody is told
}

// Guard returns c with timeouts, breaker, fleet limits and records around every call.
func Guard(c Client, cfg GuardConfig) Client { panic("unbuilt") }
