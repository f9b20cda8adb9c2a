package anthropic

import (
	"encoding/json"

	"fourfold/executor"
	"fourfold/provider/internal/wire"
)

// message is a whole answer, and the head of a streamed one.
type message struct {
	Type    string          `json:"type"`
	Model   string          `json:"model"`
	Content []block         `json:"content"`
	Stop    string          `json:"stop_reason"`
	Usage   usage           `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type block struct {
	Type string    `json:"type"`
	Text wire.Text `json:"text"`
}

// event is any event of a stream.
type event struct {
	Type    string          `json:"type"`
	Message message         `json:"message"`
	Block   block           `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   usage           `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type delta struct {
	Type string    `json:"type"`
	Text wire.Text `json:"text"`
	Stop string    `json:"stop_reason"`
}

type usage struct {
	Input      wire.Count `json:"input_tokens"`
	CacheWrite wire.Count `json:"cache_creation_input_tokens"`
	CacheRead  wire.Count `json:"cache_read_input_tokens"`
	Output     wire.Count `json:"output_tokens"`
}

// add takes over what is said. The counts of a stream are running totals, and its later ones may leave the input out.
func (u usage) add(t *wire.Turn) {
	input := u.Input
	input.N += u.CacheWrite.N + u.CacheRead.N
	said := wire.Usage(input, u.Output)
	switch {
	case !said.Known():
	case !input.Known && t.Usage.Known():
		t.Usage = executor.Tokens(t.Usage.Input(), said.Output())
	default:
		t.Usage = said
	}
}

// Whole implements wire.Dialect.
func (d *dialect) Whole(data []byte, t *wire.Turn) wire.Reading {
	var m message
	if _, broken := wire.Unmarshal(data, &m); broken {
		return wire.Broken
	}
	if m.Type == "error" || wire.Set(m.Error) {
		return wire.ErrorBody
	}
	if m.Type != "message" && !wire.Has(data, "content") {
		return wire.Foreign
	}
	m.fold(t)
	if f := wire.FinishOf(m.Stop); f != wire.Unfinished {
		t.End(f)
	}
	return wire.Answer
}

func (m *message) fold(t *wire.Turn) {
	t.Model = m.Model
	m.Usage.add(t)
	for _, b := range m.Content {
		b.fold(t)
	}
}

func (b block) fold(t *wire.Turn) {
	switch b.Type {
	case "text":
		t.Choice()
		t.Say(b.Text.S)
	case "tool_use":
		t.CallTool()
	}
}

// Event implements wire.Dialect. The type within the data counts; the event's own name is only its echo.
func (d *dialect) Event(name string, data []byte, t *wire.Turn) wire.Reading {
	var e event
	if _, broken := wire.Unmarshal(data, &e); broken {
		return wire.Broken
	}
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "message_start":
		e.Message.fold(t)
	case "content_block_start":
		e.Block.fold(t)
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			t.Say(e.Delta.Text.S)
		case "input_json_delta":
			t.CallTool()
		}
	case "message_delta":
		e.Usage.add(t)
		if f := wire.FinishOf(e.Delta.Stop); f != wire.Unfinished {
			t.Reason(f)
		}
	case "message_stop":
		t.Complete()
	case "error":
		return wire.ErrorBody
	default:
		if wire.Set(e.Error) {
			return wire.ErrorBody
		}
		return wire.Nothing // ping, content_block_stop, and what is still to be invented
	}
	return wire.Answer
}
