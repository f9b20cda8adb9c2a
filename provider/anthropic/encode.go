package anthropic

import (
	"encoding/json"

	"fourfold/provider"
	"fourfold/provider/internal/wire"
)

// dialect is the Messages API for one model.
type dialect struct {
	model     string
	can       provider.Capabilities
	maxTokens int
}

type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       string        `json:"system,omitempty"`
	Messages     []question    `json:"messages"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Stop         []string      `json:"stop_sequences,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
}

type question struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type outputConfig struct {
	Format outputFormat `json:"format"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// enforced is the part of JSON Schema that the API documents for output_config.
var enforced = wire.Subset{
	Keywords: wire.Words("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
		"definitions", "title", "description"),
	MaxDepth: 10, MaxFields: 200,
}

// Encode implements wire.Dialect.
func (d *dialect) Encode(req provider.Request, stream bool) (string, []byte, error) {
	r := request{
		Model:       d.model,
		MaxTokens:   d.maxTokens,
		System:      req.System.Reveal(),
		Messages:    []question{{"user", req.Prompt.Reveal()}},
		Temperature: req.Params.Temperature,
		TopP:        req.Params.TopP,
		Stop:        req.Params.Stop,
		Stream:      stream,
	}
	if req.Params.MaxTokens != nil {
		r.MaxTokens = *req.Params.MaxTokens
	}
	if out := req.Output; out != nil && d.can.Has(provider.CapabilitiesOf(provider.JSONSchema)) {
		if schema := wire.Bare(out.JSON); enforced.Holds(schema) {
			r.OutputConfig = &outputConfig{outputFormat{"json_schema", schema}}
		}
	}
	body, err := wire.Marshal(r)
	return "/messages", body, err
}
