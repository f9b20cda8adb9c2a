package openai

import (
	"encoding/json"
	"sync"

	"fourfold/provider/internal/wire"
)

// completion is a whole answer or one chunk of a streamed one.
type completion struct {
	Object  string          `json:"object"`
	Type    string          `json:"type"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   usage           `json:"usage"`
	Groq    extension       `json:"x_groq"`
	Error   json.RawMessage `json:"error"`
}

// completions are used again: a busy worker reads a hundred thousand chunks a second.
var completions = sync.Pool{New: func() any { return new(completion) }}

func (c *completion) release() {
	*c = completion{}
	completions.Put(c)
}

type choice struct {
	Index   int             `json:"index"`
	Message message         `json:"message"`
	Delta   message         `json:"delta"`
	Finish  string          `json:"finish_reason"`
	Error   json.RawMessage `json:"error"`
}

type message struct {
	Content      wire.Text         `json:"content"`
	Refusal      wire.Text         `json:"refusal"`
	ToolCalls    []json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage   `json:"function_call"`
}

type usage struct {
	Input  wire.Count `json:"prompt_tokens"`
	Output wire.Count `json:"completion_tokens"`
}

type extension struct {
	Usage usage `json:"usage"`
}

// Whole implements wire.Dialect.
func (d *dialect) Whole(data []byte, t *wire.Turn) wire.Reading { return read(data, t, false) }

// Event implements wire.Dialect.
func (d *dialect) Event(_ string, data []byte, t *wire.Turn) wire.Reading { return read(data, t, true) }

func read(data []byte, t *wire.Turn, stream bool) wire.Reading {
	c := completions.Get().(*completion)
	defer c.release()
	if _, broken := wire.Unmarshal(data, c); broken {
		return wire.Broken
	}
	c.account(t)
	if wire.Set(c.Error) || c.Object == "error" || c.Type == "error" {
		return wire.ErrorBody
	}
	if len(c.Choices) == 0 && c.Object != "chat.completion.chunk" && !wire.Has(data, "choices") {
		return wire.Foreign
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if wire.Set(ch.Error) {
			t.Fail(ch.Error)
			return wire.ErrorBody
		}
		if ch.Index != 0 {
			continue // one answer was asked for
		}
		t.Choice()
		if !stream { // a message within a stream repeats what its deltas said
			ch.Message.fold(t)
		}
		ch.Delta.fold(t)
		if f := wire.FinishOf(ch.Finish); f != wire.Unfinished {
			t.End(f)
		}
	}
	return wire.Answer
}

// account takes model and usage from wherever they are. The usage is a running total, so the last one counts.
func (c *completion) account(t *wire.Turn) {
	if c.Model != "" {
		t.Model = c.Model
	}
	for _, u := range []usage{c.Groq.Usage, c.Usage} {
		if said := wire.Usage(u.Input, u.Output); said.Known() {
			t.Usage = said
		}
	}
}

func (m *message) fold(t *wire.Turn) {
	t.Say(m.Content.S)
	if m.Refusal.S != "" {
		t.Refuse()
	}
	if len(m.ToolCalls) > 0 || wire.Set(m.FunctionCall) {
		t.CallTool()
	}
}
