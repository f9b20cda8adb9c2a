package executor

import (
	"context"
	"time"
)

// Attempt is one try of a step. It may be run on a goroutine that the executor stops waiting for
// when the time of the attempt is over.
type Attempt[T any] func(ctx context.Context) (Reply[T], error)

// Reply is what an attempt brings back. Model and Usage are read also when the attempt
// returns an error: a failed answer was paid for too.
type Reply[T any] struct {
	Value T
	Model ModelVersion
	Usage Usage
}

// Budget bounds a step. Attempts, PerAttempt and Total are required.
type Budget struct {
	Attempts   int
	PerAttempt time.Duration
	Total      time.Duration
	// Backoff is the base of the pause between attempts; zero means DefaultBackoff.
	Backoff time.Duration
}

// Spent is what earlier deliveries of the same step used up before it was parked. It counts against
// Attempts and is part of the envelope's usage and latency; its time does not count against Total.
type Spent struct {
	Attempts int
	Usage    Usage
	Latency  time.Duration
}

// Step is one unit of work that ends in exactly one outcome.
type Step[T any] struct {
	ID      StepID
	Prompt  PromptSHA // optional
	Attempt Attempt[T]
	Budget  Budget
	Abstain Abstain[T] // optional; made by AbstainWhen
	Degrade func() T   // optional
	Spent   Spent      // optional
}

// Abstain is the pair of questions that lets a step do nothing. Only AbstainWhen makes one.
type Abstain[T any] struct {
	on func() bool
	to func() T
}

// AbstainWhen makes the pair: when on says true the step ends ABSTAINED with the value of to.
func AbstainWhen[T any](on func() bool, to func() T) Abstain[T] { return Abstain[T]{on: on, to: to} }
