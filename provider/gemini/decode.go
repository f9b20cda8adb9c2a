package gemini

import (
	"encoding/json"

	"fourfold/provider/internal/wire"
)

// answer is a whole answer or one chunk of a streamed one; they have the same form.
type answer struct {
	Candidates []candidate `json:"candidates"`
	Feedback   struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage usage           `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	Finish string `json:"finishReason"`
}

type part struct {
	Text    wire.Text       `json:"text"`
	Thought bool            `json:"thought"`
	Call    json.RawMessage `json:"functionCall"`
}

type usage struct {
	Prompt   wire.Count `json:"promptTokenCount"`
	Answer   wire.Count `json:"candidatesTokenCount"`
	Thoughts wire.Count `json:"thoughtsTokenCount"`
}

// Whole implements wire.Dialect. A server that does not know alt=sse answers a stream with a list of its chunks.
func (d *dialect) Whole(data []byte, t *wire.Turn) wire.Reading {
	if data[0] != '[' {
		return read(data, t)
	}
	var chunks []json.RawMessage
	if _, broken := wire.Unmarshal(data, &chunks); broken {
		return wire.Broken
	}
	reading := wire.Foreign
	for _, chunk := range chunks {
		if reading = read(chunk, t); reading != wire.Answer {
			break
		}
	}
	return reading
}

// Event implements wire.Dialect.
func (d *dialect) Event(_ string, data []byte, t *wire.Turn) wire.Reading { return read(data, t) }

func read(data []byte, t *wire.Turn) wire.Reading {
	var a answer
	if _, broken := wire.Unmarshal(data, &a); broken {
		return wire.Broken
	}
	a.account(t)
	switch {
	case wire.Set(a.Error):
		return wire.ErrorBody
	case a.Feedback.Block != "":
		t.End(wire.Filtered)
	case len(a.Candidates) == 0 && !a.Usage.Prompt.Known && !wire.Has(data, "candidates"):
		return wire.Foreign
	}
	for i := range a.Candidates {
		if c := &a.Candidates[i]; c.Index == 0 {
			c.fold(t)
		}
	}
	return wire.Answer
}

// account takes model and usage, which a stream repeats as running totals.
func (a *answer) account(t *wire.Turn) {
	if a.Model != "" {
		t.Model = a.Model
	}
	output := wire.Count{N: a.Usage.Answer.N + a.Usage.Thoughts.N, Known: a.Usage.Answer.Known || a.Usage.Thoughts.Known}
	if said := wire.Usage(a.Usage.Prompt, output); said.Known() {
		t.Usage = said
	}
}

func (c *candidate) fold(t *wire.Turn) {
	t.Choice()
	for _, p := range c.Content.Parts {
		switch {
		case wire.Set(p.Call):
			t.CallTool()
		case !p.Thought:
			t.Say(p.Text.S)
		}
	}
	if f := wire.FinishOf(c.Finish); f != wire.Unfinished {
		t.End(f)
	}
}
