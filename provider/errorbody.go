package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// FromHTTP reads the signal of an HTTP answer that is no success. The body may have any shape and may be cut: the status counts
// whatever it is. Set Provider, and AfterFirstToken, before Judge.
func FromHTTP(status int, h http.Header, body []byte, now time.Time) Signal {
	s := Signal{Seen: SeenStatus, Status: status, NoRetry: strings.EqualFold(strings.TrimSpace(h.Get("X-Should-Retry")), "false")}
	s.RetryAfter, s.HasRetryAfter = RetryAfterFrom(h, now)
	if code := h.Get("X-Amzn-Errortype"); code != "" {
		code, _, _ = strings.Cut(code, ":")
		s.Codes = append(s.Codes, code)
	}
	if found, ok := parseBody(body); ok {
		s.absorb(found)
	}
	return s
}

// FromInBand reads an error object in the body of a 200 or in an event of a stream. False: data is no error object.
func FromInBand(data []byte) (Signal, bool) {
	found, ok := parseBody(data)
	if !ok || !found.isError {
		return Signal{}, false
	}
	s := Signal{Seen: SeenInBand, Status: found.status}
	s.absorb(found)
	return s, true
}

// FromError reads the signal of a call that ended without an answer. ctx is the context of the call: when it has ended, that is
// why, and a deadline is a timeout; so is a timer of the transport. Every other error is a broken call.
func FromError(ctx context.Context, err error) Signal {
	s := Signal{Seen: SeenNetwork, Cause: err}
	switch ended := ctx.Err(); {
	case errors.Is(ended, context.DeadlineExceeded):
		s.Seen = SeenTimeout
	case ended != nil:
		s.Seen = SeenAborted
	case isTimer(err):
		s.Seen = SeenTimeout
	}
	return s
}

// isTimer reports whether a timer of the transport ended the call: dial, handshake or header.
func isTimer(err error) bool {
	timer, found := errors.AsType[net.Error](err)
	return found && timer.Timeout()
}

func (s *Signal) absorb(b errorBody) {
	s.Codes = append(s.Codes, b.codes...)
	s.Message = b.message
	if b.hasDelay && !s.HasRetryAfter {
		s.RetryAfter, s.HasRetryAfter = b.delay, true
	}
}

// errorBody is what was found in an error body of whatever shape.
type errorBody struct {
	isError  bool // an error object, not merely an object with a message
	status   int  // embedded; 0: none
	codes    []string
	message  string
	delay    time.Duration
	hasDelay bool
}

// wireError is the union of the shapes met: OpenAI, Azure, Anthropic, Google, vLLM, Ollama, FastAPI, Cloudflare, AWS. Each
// field is raw, because each is met with more than one type.
type wireError struct {
	Object     json.RawMessage `json:"object"`
	Error      json.RawMessage `json:"error"`
	Errors     json.RawMessage `json:"errors"`
	Code       json.RawMessage `json:"code"`
	Type       json.RawMessage `json:"type"`
	ErrorType  json.RawMessage `json:"error_type"`
	AWSType    json.RawMessage `json:"__type"`
	Status     json.RawMessage `json:"status"`
	Message    json.RawMessage `json:"message"`
	Detail     json.RawMessage `json:"detail"`
	Details    json.RawMessage `json:"details"`
	Inner      json.RawMessage `json:"innererror"`
	Reason     json.RawMessage `json:"reason"`
	RetryDelay json.RawMessage `json:"retryDelay"`
	Violations json.RawMessage `json:"violations"`
	QuotaID    json.RawMessage `json:"quotaId"`
	Msg        json.RawMessage `json:"msg"`
}

// deepest is how far an error object is followed into itself.
const deepest = 6

func parseBody(body []byte) (errorBody, bool) {
	var found errorBody
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if !json.Valid(trimmed) {
		return found, false
	}
	found.walk(trimmed, 0)
	return found, true
}

// walk gathers from one JSON value: an object's own codes first, then those of the objects within it.
func (b *errorBody) walk(raw json.RawMessage, depth int) {
	if len(raw) == 0 || depth > deepest {
		return
	}
	switch raw[0] {
	case '"':
		b.say(raw)
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil {
			for _, item := range items[:min(len(items), 8)] {
				b.walk(item, depth+1)
			}
		}
	case '{':
		var e wireError
		if json.Unmarshal(raw, &e) == nil {
			b.object(e, depth)
		}
	}
}

func (b *errorBody) object(e wireError, depth int) {
	if isSet(e.Error) || text(e.Type) == "error" || text(e.Object) == "error" {
		b.isError = true
	}
	b.walk(e.Error, depth+1) // an error object within is nearer to the fault than what wraps it
	if word := text(e.Error); !strings.ContainsAny(word, " \n") {
		b.code(e.Error) // {"error":"insufficient_quota"}
	}
	for _, raw := range []json.RawMessage{e.Code, e.Type, e.ErrorType, e.AWSType, e.Status, e.Reason} {
		b.code(raw)
	}
	if strings.Contains(strings.ToLower(text(e.QuotaID)), "perday") {
		b.codes = append(b.codes, "perday")
	}
	if d, ok := retryDelay(text(e.RetryDelay)); ok && !b.hasDelay {
		b.delay, b.hasDelay = d, true
	}
	b.say(e.Message)
	b.say(e.Msg)
	for _, raw := range []json.RawMessage{e.Inner, e.Detail, e.Details, e.Errors, e.Violations} {
		b.walk(raw, depth+1)
	}
}

// code takes a code or a type: a number, or digits, in the range of error statuses is a status.
func (b *errorBody) code(raw json.RawMessage) {
	word := text(raw)
	if word == "" && len(raw) > 0 && raw[0] >= '0' && raw[0] <= '9' {
		word = string(raw)
	}
	_, afterHash, found := strings.Cut(word, "#") // AWS: namespace#ThrottlingException
	if found {
		word = afterHash
	}
	if word == "" {
		return
	}
	if n, err := strconv.Atoi(word); err == nil {
		if b.status == 0 && n >= 400 && n <= 599 {
			b.status = n
		}
		return
	}
	b.codes = append(b.codes, word)
}

func (b *errorBody) say(raw json.RawMessage) {
	if said := text(raw); said != "" {
		if b.message != "" {
			b.message += "\n"
		}
		b.message += said
	}
}

// isSet reports whether raw is there and is something: not null, false, empty text or an empty object.
func isSet(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// text returns raw as a string; empty when it is none.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
