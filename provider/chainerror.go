package provider

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fourfold/executor"
)

// ChainError says that several providers of a chain were asked and none answered. AsError, and errors.As for an Error, find the
// error of the one asked last; errors.As for one of the seven types finds the last of that type; Unwrap gives all, the last
// first. Its class is that of the last one, and another attempt is made if any of them may be asked again.
type ChainError struct {
	errs  []error // the last first
	again bool
	after time.Duration
}

// newChainError takes the errors in the order in which they came; at least one. parked is the client that may be asked soonest
// of those that were not asked at all; nil: none.
func newChainError(errs []error, parked *executor.Parked, now time.Time) *ChainError {
	e := &ChainError{errs: slices.Clone(errs)}
	slices.Reverse(e.errs)
	if parked != nil {
		e.mayAsk(max(parked.NotBefore.Sub(now), 0))
	}
	for _, err := range e.errs {
		failing, _ := errors.AsType[executor.Failing](err)
		if f := failing.Failure(); f.Retry == executor.RetryYes {
			e.mayAsk(f.RetryAfter)
		}
	}
	return e
}

// mayAsk notes that some provider may be asked again after a wait. The smallest wait counts.
func (e *ChainError) mayAsk(after time.Duration) {
	if !e.again || after < e.after {
		e.after = after
	}
	e.again = true
}

// Unwrap returns the providers' errors, that of the provider asked last first.
func (e *ChainError) Unwrap() []error { return e.errs }

// Failure is the last provider's, with the retry rule of the whole chain; RetryAfter is the shortest wait after which one of
// its providers may be asked again.
func (e *ChainError) Failure() executor.Failure {
	last, _ := AsError(e)
	f := last.Failure()
	f.Retry, f.RetryAfter = executor.RetryNo, 0
	if e.again {
		f.Retry, f.RetryAfter = executor.RetryYes, e.after
	}
	return f
}

// Error lists the providers' errors in the order in which they were asked.
func (e *ChainError) Error() string {
	texts := make([]string, 0, len(e.errs))
	for _, err := range slices.Backward(e.errs) {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Format prints the error's text for every verb.
func (e *ChainError) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.Error()) }

// MarshalText returns the error's text.
func (e *ChainError) MarshalText() ([]byte, error) { return []byte(e.Error()), nil }

// NotAsked says whether a call ended with err without anybody having been asked, because every breaker is open; and after what
// time one of them opens.
func NotAsked(err error) (after time.Duration, ok bool) {
	if all, is := errors.AsType[*ChainError](err); is {
		return all.after, !slices.ContainsFunc(all.errs, func(err error) bool { _, refused := NotAsked(err); return !refused })
	}
	e, is := AsError(err)
	if !is || e.Reason() != ReasonBreakerOpen {
		return 0, false
	}
	after, _ = e.RetryAfter()
	return after, true
}

// CapabilityError says that nobody in a chain can do what is needed. It is a mistake in the configuration, found by Chain.Check
// before any step; a call that meets it all the same ends in an *InvalidRequestError with ReasonCapability that wraps it.
type CapabilityError struct {
	Need  Capabilities
	Lacks []Lack // in the order of the chain
}

// Lack is what one provider cannot do of what is needed.
type Lack struct {
	Provider Name
	Lacks    Capabilities
}

// Error says what is needed and who lacks what.
func (e *CapabilityError) Error() string {
	text := "no provider of the chain can do " + e.Need.String()
	for i, l := range e.Lacks {
		text += map[bool]string{true: ": ", false: "; "}[i == 0] + l.Provider.String() + " lacks " + l.Lacks.String()
	}
	return text
}
