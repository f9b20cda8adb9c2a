package provider

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"fourfold/executor"
)

// Error is what a provider did wrong: a sum of seven pointer types, one per Kind. Only Judge makes them, by the decision
// table. The text is "provider NAME: kind[/reason][ status N]", never a URL, a body or a message; every verb and every
// encoder prints that text. Unwrap leads to the cause, for errors.Is and errors.As alone: do not print it.
type Error interface {
	executor.Failing
	// Provider says whose error it is; zero when the caller did not say.
	Provider() Name
	// Kind is never KindNone in an error that Judge made.
	Kind() Kind
	Reason() Reason
	// Status is the HTTP status, or the one embedded in an error object; 0: none.
	Status() int
	// RetryAfter is how long the provider asked to be left alone, counted from the failure; false: it did not say.
	RetryAfter() (time.Duration, bool)
	// NextProvider reports whether a chain may ask its next provider within the same attempt.
	NextProvider() bool
	// NextAttempt reports whether the executor may make another attempt.
	NextAttempt() bool
	sealed() *fault
}

// The seven error types. Match one with errors.As or errors.AsType.
type (
	// NetworkError says that the call broke on its way, or that a timer or the caller ended it.
	NetworkError struct{ fault }
	// RateLimitError says that the provider asks for fewer calls.
	RateLimitError struct{ fault }
	// AuthError says that the key is wrong or may not do this.
	AuthError struct{ fault }
	// InvalidRequestError says that the request is at fault.
	InvalidRequestError struct{ fault }
	// ModelUnavailableError says that the model is not there, or not for this key.
	ModelUnavailableError struct{ fault }
	// ProviderError says that the provider failed.
	ProviderError struct{ fault }
	// OutputValidationError says that the model answered, but not with what was asked for.
	OutputValidationError struct{ fault }
)

// fault is what the seven have in common. Its methods have pointer receivers, so that only pointers are errors.
type fault struct {
	provider   Name
	status     int
	retryAfter time.Duration
	hasAfter   bool
	verdict    verdict
	cause      error
}

func (f *fault) Provider() Name                    { return f.provider }
func (f *fault) Kind() Kind                        { return f.verdict.kind }
func (f *fault) Reason() Reason                    { return f.verdict.reason }
func (f *fault) Status() int                       { return f.status }
func (f *fault) RetryAfter() (time.Duration, bool) { return f.retryAfter, f.hasAfter }
func (f *fault) NextProvider() bool                { return bool(f.verdict.next) }
func (f *fault) NextAttempt() bool                 { return bool(f.verdict.again) }
func (f *fault) Unwrap() error                     { return f.cause }
func (f *fault) sealed() *fault                    { return f }

// Failure tells the executor the class and, always, whether another attempt may follow.
func (f *fault) Failure() executor.Failure {
	retry := executor.RetryNo
	if f.verdict.again {
		retry = executor.RetryYes
	}
	return executor.Failure{Class: f.verdict.class, Retry: retry, RetryAfter: f.retryAfter, Err: f.cause}
}

func (f *fault) Error() string {
	text := make([]byte, 0, 64)
	text = append(text, "provider "...)
	if !f.provider.IsZero() {
		text = append(text, f.provider.String()...)
	} else {
		text = append(text, '-')
	}
	text = append(text, ": "...)
	text = append(text, f.verdict.kind.String()...)
	if f.verdict.reason != ReasonNone {
		text = append(text, '/')
		text = append(text, f.verdict.reason.String()...)
	}
	if f.status != 0 {
		text = append(text, " status "...)
		text = strconv.AppendInt(text, int64(f.status), 10)
	}
	return string(text)
}

// Format prints the error's text for every verb, so that %#v does not walk into the cause.
func (f *fault) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.Error()) }

// MarshalText returns the error's text.
func (f *fault) MarshalText() ([]byte, error) { return []byte(f.Error()), nil }

// newError puts f into the type of its kind.
func newError(f fault) Error {
	switch f.verdict.kind {
	case KindNetwork:
		return &NetworkError{f}
	case KindRateLimit:
		return &RateLimitError{f}
	case KindAuth:
		return &AuthError{f}
	case KindInvalidRequest:
		return &InvalidRequestError{f}
	case KindModelUnavailable:
		return &ModelUnavailableError{f}
	case KindOutputValidation:
		return &OutputValidationError{f}
	case KindNone, KindProviderError:
	}
	return &ProviderError{f}
}

// afterFirstToken returns e as it is once a stream has shown a token: nobody else may answer this attempt.
func afterFirstToken(e Error) Error {
	f := *e.sealed()
	f.verdict.next = no
	return newError(f)
}

// AsError finds the provider error in err: for a chain's error that of the provider asked last. False: there is none.
func AsError(err error) (Error, bool) { return errors.AsType[Error](err) }

// SchemaViolation is the error of n's answer that is valid JSON and breaks the step's schema: output_validation, class
// schema, not retried.
func SchemaViolation(n Name) error { return Judge(Signal{Provider: n, Seen: SeenSchemaViolation}) }
