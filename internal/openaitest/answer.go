package openaitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Answer is what a call gets.
type Answer func(exchange)

type exchange struct {
	w    http.ResponseWriter
	r    *http.Request
	call Call
	stop <-chan struct{}
}

// Model is the model version that answers name.
const Model = "test-model-2026-01-01"

// InputTokens and OutputTokens are the usage that every good answer reports.
const (
	InputTokens  = 11
	OutputTokens = 7
)

// Text answers with a complete message; streamed when the call asks for that.
func Text(text string) Answer { return finished(text, "stop") }

// Truncated answers with a message that the length limit cut.
func Truncated(text string) Answer { return finished(text, "length") }

func finished(text, reason string) Answer {
	return func(x exchange) {
		usage := map[string]int{"prompt_tokens": InputTokens, "completion_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens}
		if x.call.Stream {
			x.w.Header().Set("Content-Type", "text/event-stream")
			x.event(map[string]any{"role": "assistant", "content": text}, nil, nil)
			x.event(map[string]any{}, reason, usage)
			fmt.Fprint(x.w, "data: [DONE]\n\n")
			return
		}
		x.w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(x.w).Encode(map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "model": Model, "usage": usage,
			"choices": []any{map[string]any{
				"index": 0, "finish_reason": reason,
				"message": map[string]any{"role": "assistant", "content": text},
			}},
		})
	}
}

func (x exchange) event(delta map[string]any, reason, usage any) {
	data, _ := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": Model, "usage": usage,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
	})
	fmt.Fprintf(x.w, "data: %s\n\n", data)
	x.w.(http.Flusher).Flush()
}

// Status answers with an error object under the given status.
func Status(code int) Answer {
	return func(x exchange) {
		x.w.Header().Set("Content-Type", "application/json")
		x.w.WriteHeader(code)
		_, _ = io.WriteString(x.w, `{"error":{"message":"scripted by the test","type":"scripted"}}`)
	}
}

// TooManyRequests is a 429 with the given Retry-After; empty means none.
func TooManyRequests(retryAfter string) Answer {
	return func(x exchange) {
		if retryAfter != "" {
			x.w.Header().Set("Retry-After", retryAfter)
		}
		Status(http.StatusTooManyRequests)(x)
	}
}

// Hang answers nothing until the caller goes away or the test ends.
func Hang() Answer {
	return func(x exchange) {
		select {
		case <-x.r.Context().Done():
		case <-x.stop:
		}
	}
}

// After answers when release is closed, unless the caller has gone away by then.
func After(release <-chan struct{}, then Answer) Answer {
	return func(x exchange) {
		select {
		case <-release:
			then(x)
		case <-x.r.Context().Done():
		case <-x.stop:
		}
	}
}

// Decide answers as f says of the call.
func Decide(f func(Call) Answer) Answer {
	return func(x exchange) { f(x.call)(x) }
}

// Slow answers after some time, unless the caller has gone away by then.
func Slow(d time.Duration, then Answer) Answer {
	return func(x exchange) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			then(x)
		case <-x.r.Context().Done():
		case <-x.stop:
		}
	}
}

// Raw answers with exactly this body.
func Raw(code int, contentType, body string) Answer {
	return func(x exchange) {
		x.w.Header().Set("Content-Type", contentType)
		x.w.WriteHeader(code)
		_, _ = io.WriteString(x.w, body)
	}
}

// Reset ends the connection without an answer.
func Reset() Answer {
	return func(exchange) { panic(http.ErrAbortHandler) }
}
