package executor

import (
	"context"
	"time"
)

// DefaultBackoff is the base of the pause between attempts when a budget names none.
const DefaultBackoff = 500 * time.Millisecond

// Attempt is one try of a step: normally one pass over a chain of providers, without retries of its own.
//
// It runs on a goroutine that [Run] stops waiting for when the time of the attempt is over; so it must
// not write to what others read without a lock, and it should end when its context does. The context
// carries the attempt's deadline and ends when Run stops waiting. An attempt that was not made,
// because the provider must not be called yet, returns a [*Parked]. Any other error is judged by
// [Classify]. A panic is a failed attempt of class parse that is not retried.
type Attempt[T any] func(ctx context.Context) (Reply[T], error)

// Reply is what an attempt brings back. Model and Usage are read also when the attempt
// returns an error: a failed answer was paid for too.
type Reply[T any] struct {
	Value T
	Model ModelVersion // zero: unknown
	Usage Usage        // zero: unknown
}

// Budget bounds a step. Attempts, PerAttempt and Total are required and positive.
type Budget struct {
	Attempts   int           // at most, over all deliveries
	PerAttempt time.Duration // of one attempt
	Total      time.Duration // of all attempts of one Run and the pauses between them
	// Backoff is the base of the pause between attempts; zero means DefaultBackoff. The pause after
	// the n-th attempt is Backoff·2^(n-1)·(0.5..1.0), and at least the failure's RetryAfter.
	Backoff time.Duration
}

// Spent is what earlier deliveries of the same step used up before it was parked or interrupted. It
// counts against Attempts and is part of the envelope's usage and latency; its time does not count
// against Total. The zero value is nothing.
type Spent struct {
	Attempts int
	Usage    Usage
	Latency  time.Duration
}

// Step is one unit of work that ends in exactly one outcome. ID, Attempt and Budget are required.
type Step[T any] struct {
	ID      StepID
	Prompt  PromptSHA // optional
	Attempt Attempt[T]
	Budget  Budget
	Abstain Abstain[T] // optional; made by AbstainWhen
	// Degrade returns the value to go on with when the attempts are spent or the failure is not
	// retryable; nil: the step is then FAILED. It must not block: nothing races it.
	Degrade func() T
	Spent   Spent // optional
	// Patience is the longest RetryAfter of a failure that Run sleeps through. For a longer one that fits the
	// budget it returns a *[Parked] with the attempt in Spent, so that the caller can do other work
	// meanwhile. Zero: Run sleeps, however long it is.
	Patience time.Duration
	// OnFailure is told about every failed attempt (from 1) and every contained panic; in Abstain the
	// attempt is 0, in Degrade it is the last one. It is called by the goroutine that called Run, or that
	// goes on after Start; it must not block, and changes nothing. Failure.Err may hold content. Optional.
	OnFailure func(attempt int, f Failure)
}

// Abstain is the pair of questions that lets a step do nothing. Only [AbstainWhen] makes one; the zero
// value never abstains.
type Abstain[T any] struct {
	on func() bool
	to func() T
}

// AbstainWhen makes the pair: when on says true the step ends ABSTAINED with the value of to. Both are
// required. [Run] asks once, before any attempt; neither may block: nothing races them.
func AbstainWhen[T any](on func() bool, to func() T) Abstain[T] { return Abstain[T]{on: on, to: to} }

// problem says what makes the step invalid; empty when nothing does.
func (s *Step[T]) problem() string {
	switch {
	case s.ID.IsZero():
		return "ID is required"
	case s.Attempt == nil:
		return "Attempt is required"
	case s.Budget.Attempts <= 0:
		return "Budget.Attempts must be positive"
	case s.Budget.PerAttempt <= 0:
		return "Budget.PerAttempt must be positive"
	case s.Budget.Total <= 0:
		return "Budget.Total must be positive"
	case s.Patience < 0:
		return "Patience must not be negative"
	case s.Budget.Backoff < 0:
		return "Budget.Backoff must not be negative"
	case (s.Abstain.on == nil) != (s.Abstain.to == nil):
		return "Abstain needs both functions"
	case s.Spent.Attempts < 0 || s.Spent.Latency < 0:
		return "Spent must not be negative"
	case s.Spent.Attempts >= s.Budget.Attempts:
		return "Spent leaves no attempt"
	}
	return ""
}
