package provider

import (
	"fmt"
	"io"
	"time"
)

// Seen is what was seen of a failed call.
type Seen uint8

// What can be seen. The wire decides which of these it was; the table decides what follows from it.
const (
	// SeenStatus is an HTTP answer that is no success: Codes, Message and Status decide.
	SeenStatus Seen = iota
	// SeenInBand is an error object in the body of a 200 or in a stream: the embedded status decides, else its Codes.
	SeenInBand
	// SeenNetwork is a call that broke: refused, reset, cut, garbled encoding, no such host.
	SeenNetwork
	// SeenCut is a stream that ended without terminal evidence.
	SeenCut
	// SeenTimeout is the end of the time for the whole call.
	SeenTimeout
	// SeenFirstTokenTimeout is a stream whose first token did not come in time.
	SeenFirstTokenTimeout
	// SeenIdleTimeout is a stream whose next token did not come in time.
	SeenIdleTimeout
	// SeenAborted is a call that ended because the caller's own context did, or because the caller walked away.
	SeenAborted
	// SeenNoAnswer is a 200 whose body is no answer of the protocol: HTML, empty, cut JSON, another object.
	SeenNoAnswer
	// SeenOversize is an answer, line or event beyond the bound of what is read.
	SeenOversize
	// SeenMalformedEvent is an event of a stream that is no JSON: what it held is missing from the answer.
	SeenMalformedEvent
	// SeenEmpty is an answer without choices, or without text though the model says that it finished.
	SeenEmpty
	// SeenNotJSON is a text that is not exactly one JSON value where JSON was asked for.
	SeenNotJSON
	// SeenTruncated is a text that ended at the limit of output tokens.
	SeenTruncated
	// SeenRefusal is a model that declined.
	SeenRefusal
	// SeenContentFilter is an answer, or a prompt, that a filter withheld.
	SeenContentFilter
	// SeenToolCalls is an answer of tool calls where text was asked for.
	SeenToolCalls
	// SeenMalformedToolCall is an answer that the provider itself calls a broken tool call.
	SeenMalformedToolCall
	// SeenSchemaViolation is a JSON value that breaks the step's schema.
	SeenSchemaViolation
	// SeenBreakerOpen is a call that was not made, because the breaker is open.
	SeenBreakerOpen
	// SeenClosed is a call that was not made, because the provider asked with a 429 to be left alone until later.
	SeenClosed
	// SeenIncapable is a call that was not made, because nobody in the chain has what it requires.
	SeenIncapable
)

var seenNames = []string{
	"status", "in_band", "network", "cut", "timeout", "first_token_timeout", "idle_timeout", "aborted", "no_answer", "oversize",
	"malformed_event", "empty", "not_json", "truncated", "refusal", "content_filter", "tool_calls", "malformed_tool_call", "schema_violation",
	"breaker_open", "closed", "incapable",
}

// String names what was seen.
func (s Seen) String() string { return enumName(seenNames, s) }

// Signal is what was seen of a failed call, before Judge says what it means. FromHTTP, FromInBand and FromError make most of
// them. It may hold a provider's words, so it prints and encodes as Seen and Status alone.
type Signal struct {
	Provider Name
	Seen     Seen
	// Status is the HTTP status; within SeenInBand the embedded one; 0: none.
	Status int
	// Codes are the error's codes and types in order of trust, as the provider wrote them: error.code, error.type, ...
	// They are matched without regard to case, and never kept.
	Codes []string
	// Message is matched against a short list of text markers, and never kept.
	Message string
	// RetryAfter counts only where HasRetryAfter.
	RetryAfter    time.Duration
	HasRetryAfter bool
	// NoRetry is the header "x-should-retry: false".
	NoRetry bool
	// AfterFirstToken says that a stream had already shown a token: no other provider may answer this attempt then.
	AfterFirstToken bool
	// Cause is kept for errors.Is and errors.As, and never printed; nil: none.
	Cause error
}

// Format prints what was seen and the status, whatever the verb.
func (s Signal) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.text()) }

// MarshalText returns what Format prints.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.text()), nil }

func (s Signal) text() string { return fmt.Sprintf("signal %s status %d", s.Seen.String(), s.Status) }
