package provider

import (
	"time"

	"fourfold/executor"
)

// Error is what a provider did wrong: a sum of seven pointer types. Its text is provider, kind, reason and
// status; never a body.
type Error interface {
	executor.Failing
	Provider() Name
	Kind() Kind
	Reason() Reason
	Status() int
	RetryAfter() (time.Duration, bool)
	NextProvider() bool // may the chain ask the next one?
	NextAttempt() bool  // may the executor make another attempt?
	sealed()
}

// The seven: NetworkError RateLimitError AuthError InvalidRequestError ModelUnavailableError ProviderError OutputValidationError.

// Signal is what was seen of a failed call, before it is judged. FromSignal is the one decision table.
type Signal struct {
	Provider      Name
	Status        int    // HTTP status; of an error object in a 200 body: the embedded one
	Code          string // error.code, error.type, error.status or details[].reason, lower-cased; matched, never printed
	Type          string
	Message       string // for the short list of text markers; matched, never kept
	RetryAfter    time.Duration
	HasRetryAfter bool
	ShouldRetry   *bool // x-should-retry
	// ... to be shaped by the provider package
}

// AsError finds the provider error in err (the last provider's, for a chain).
func AsError(err error) (Error, bool) { panic("unbuilt") }

// JSONValue takes the one JSON value out of an answer's text: lenient where it costs nothing (BOM, one fence, prose around
// exactly one value), an *OutputValidationError otherwise.
func JSONValue(n Name, text string) ([]byte, error) { panic("unbuilt") }

// SchemaViolation is the error of a valid JSON value that breaks the step's schema: output_validation, class schema.
func SchemaViolation(n Name) error { panic("unbuilt") }
