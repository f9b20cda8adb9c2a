package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fourfold/internal/faultserver"
)

const (
	question = "Say in sixty words what happens to a message."
	// sixty is the answer that counts: sixty words.
	sixty = "a message leaves its sender and meets a queue where it waits for a worker that asks a model and the model may be slow " +
		"or silent or gone so the worker counts its time asks again with care turns to another and writes down what became of it " +
		"until the sender who waited can clearly read how it ended"
	tokens = 60
	input  = 12
)

// fault is one of the sixteen.
type fault struct {
	id, title string
	// primary answers request n at a time after the start; flap and reset faults look at them.
	primary func(n int, after time.Duration, c clock) faultserver.Answer
	expect  expectation
	// prefill: the fallback refuses a request that ends in words of an assistant's.
	prefill bool
	// sequence: many requests through an outage in place of one.
	sequence bool
}

// expectation is how the benchmark judges a fault, its advisory checks included; times in its seconds.
type expectation struct {
	cleanError   bool    // the right end is an error and not an answer
	atLeast      int     // calls to the primary; advisory
	exactly      int     // calls to the primary
	atMost       int     // calls to the primary; advisory
	gap          float64 // between the first two, unscaled; advisory
	within       float64 // the whole call
	advisory     float64 // the whole call; advisory
	usage        bool    // the answer has its usage; advisory
	fromFallback bool    // the answer is booked on the fallback
	alive        bool    // a good call succeeds afterwards
}

func always(a faultserver.Answer) func(int, time.Duration, clock) faultserver.Answer {
	return func(int, time.Duration, clock) faultserver.Answer { return a }
}

func once(a faultserver.Answer) func(int, time.Duration, clock) faultserver.Answer {
	return func(n int, _ time.Duration, _ clock) faultserver.Answer {
		if n == 1 {
			return a
		}
		return good("primary")
	}
}

var faults = []fault{
	{id: "S01", title: "429 with Retry-After, once", primary: once(refusal(429, "rate_limit_error", "rate_limit_exceeded").Header("Retry-After", "2")), expect: expectation{atLeast: 2, gap: 1.8}},
	{id: "S02", title: "429 for ever", primary: always(refusal(429, "rate_limit_error", "rate_limit_exceeded"))},
	{id: "S03", title: "500 once", primary: once(refusal(500, "server_error", "")), expect: expectation{atLeast: 2}},
	{id: "S04", title: "503 for ever", primary: always(refusal(503, "server_error", "overloaded"))},
	{id: "S05", title: "reset before the headers, once", primary: once(faultserver.Answer{Mode: faultserver.ResetBeforeHeaders})},
	{id: "S06", title: "silence", primary: always(faultserver.Answer{Mode: faultserver.HangBeforeHeaders}), expect: expectation{within: 100, atMost: 1}},
	{id: "S07", title: "first token after 20 s", primary: func(_ int, _ time.Duration, c clock) faultserver.Answer {
		late := good("primary")
		late.First = c.of(20)
		return late
	}, expect: expectation{advisory: 15}},
	{id: "S08", title: "stream cut after 40 of 60 tokens", primary: always(stream("primary", first(40)).With(faultserver.Cut))},
	{id: "S09", title: "stream stalls after 20 tokens", primary: always(stream("primary", first(20)).With(faultserver.Stall)), expect: expectation{within: 45, alive: true}},
	{id: "S10", title: "a broken event in the stream", primary: always(stream("primary", broken(10))), expect: expectation{alive: true}},
	{id: "S11", title: "no [DONE]", primary: always(stream("primary", noDone)), expect: expectation{within: 8, usage: true}},
	{id: "S12", title: "400 context_length_exceeded", primary: always(refusal(400, "invalid_request_error", "context_length_exceeded")), expect: expectation{exactly: 1}},
	{id: "S13", title: "400 content policy", primary: always(refusal(400, "invalid_request_error", "content_policy_violation")), expect: expectation{exactly: 1, cleanError: true}},
	{id: "S14", title: "cut, and the fallback refuses prefill", primary: always(stream("primary", first(40)).With(faultserver.Cut)), prefill: true},
	{id: "S15", title: "503 for 60 s under 20 requests", primary: func(_ int, after time.Duration, c clock) faultserver.Answer {
		if after < c.of(60) {
			return refusal(503, "server_error", "overloaded")
		}
		return good("primary")
	}, sequence: true},
	{id: "S16", title: "accounting of a fallback", primary: always(refusal(503, "server_error", "overloaded")), expect: expectation{fromFallback: true, usage: true}},
}

func refusal(status int, kind, code string) faultserver.Answer {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "no", "type": kind, "code": code}})
	return faultserver.JSON(status, string(body))
}

func good(model string) faultserver.Answer {
	return stream(model, func(events []string) []string { return events })
}

// stream is the good answer of a model, with its events changed: role, sixty tokens, reason, usage, mark.
func stream(model string, change func([]string) []string) faultserver.Answer {
	event := func(choices, more string) string {
		return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":%q,"choices":[%s]%s}`, model, choices, more) + "\n\n"
	}
	events := []string{event(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`, "")}
	for i, word := range strings.Fields(sixty) {
		if i > 0 {
			word = " " + word
		}
		events = append(events, event(fmt.Sprintf(`{"index":0,"delta":{"content":%q},"finish_reason":null}`, word), ""))
	}
	events = append(events,
		event(`{"index":0,"delta":{},"finish_reason":"stop"}`, ""),
		event("", fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, input, tokens, input+tokens)),
		"data: [DONE]\n\n")
	a := faultserver.Events(change(events)...)
	a.Pause = 2 * time.Millisecond
	return a
}

func first(n int) func([]string) []string {
	return func(events []string) []string { return events[:1+n] }
}

func broken(at int) func([]string) []string {
	return func(events []string) []string {
		bad := `data: {"id":"c","choices":[{"delta":{"content":` + "\n\n"
		return append(append(append([]string{}, events[:1+at]...), bad), events[1+at:]...)
	}
}

func noDone(events []string) []string { return events[:len(events)-1] }
