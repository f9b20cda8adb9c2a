package wire

import (
	"slices"
	"strings"
	"unicode/utf8"

	"fourfold/executor"
)

// Finish is why a model stopped, in words common to all APIs.
type Finish uint8

// The finishes. Unfinished is what an answer says that gives no reason (yet).
const (
	Unfinished Finish = iota
	Stopped
	Truncated // at a limit of tokens
	Filtered  // by a content filter
	Refused
	ToolCalls
	Garbled // the provider says that the model wrote something malformed; asking again usually helps
	Errored // the provider failed and said so in place of a reason
)

// Reading is what a dialect says of a JSON text that it was given.
type Reading uint8

// The readings. Nothing is JSON that says nothing, such as a ping.
const (
	Nothing   Reading = iota
	Answer            // an answer or a part of one, folded into the turn
	ErrorBody         // an error object in place of an answer
	Foreign           // JSON, but nothing that the API would send
	Broken            // no JSON
)

// Turn gathers what one answer has said so far.
type Turn struct {
	Model string         // as the provider names it
	Usage executor.Usage // as last said: providers repeat running totals

	text     strings.Builder
	finish   Finish
	complete bool // terminal evidence was seen
	over     bool // and nothing follows it, not even the usage
	choice   bool // there was something to answer with, if only an empty text
	refused  bool
	tool     bool
	invalid  bool   // invalid UTF-8, or half a character, was replaced in decoding
	half     string // of a character that a piece of text ended with: see halves.go

	failure []byte // an error object that stood elsewhere than at the top

	delta string // said since it was last taken
	token bool   // a token came since then: text, or a piece of a tool call
}

// Choice notes that the answer has a choice (a candidate, a content list), even if nothing is in it.
func (t *Turn) Choice() { t.choice = true }

// Say adds text to the answer, as Text.S has it.
func (t *Turn) Say(text string) {
	if text == "" {
		return
	}
	t.choice = true
	t.add(t.join(text))
}

func (t *Turn) add(text string) {
	if text == "" {
		return
	}
	t.token = true
	t.text.WriteString(text)
	t.delta += text // one event nearly always says one thing, and then this copies nothing
}

// CallTool notes a tool call or a piece of one: a token, but no text.
func (t *Turn) CallTool() { t.choice, t.tool, t.token = true, true, true }

// Refuse notes a refusal or a piece of one. Its text is dropped.
func (t *Turn) Refuse() { t.choice, t.refused, t.token = true, true, true }

// End notes why the model stopped, which proves that the answer is complete. A later reason replaces a plain stop: a
// filter that works behind the stream may still object.
func (t *Turn) End(f Finish) {
	t.lose()
	t.choice, t.complete = true, true
	if t.finish == Unfinished || t.finish == Stopped {
		t.finish = f
	}
}

// Reason notes why the model stopped where that is not yet the end of the answer; Complete then says when it is.
func (t *Turn) Reason(f Finish) { t.choice, t.finish = true, f }

// Complete notes the end of an answer after which nothing follows.
func (t *Turn) Complete() {
	t.lose()
	t.complete, t.over = true, true
}

// Fail notes an error object that stood within an answer; the dialect then returns ErrorBody.
func (t *Turn) Fail(object []byte) {
	t.failure = slices.Concat([]byte(`{"error":`), object, []byte("}"))
}

// take returns what was said since the last call.
func (t *Turn) take() (text string, token bool) {
	text, token = t.delta, t.token
	t.delta, t.token = "", false
	return text, token
}

// decode lets a dialect read one JSON text.
func (t *Turn) decode(data []byte, read func([]byte, *Turn) Reading) Reading {
	if !utf8.Valid(data) {
		t.invalid = true
	}
	return read(data, t)
}
