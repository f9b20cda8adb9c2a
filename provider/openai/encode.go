package openai

import (
	"encoding/json"

	"fourfold/provider"
	"fourfold/provider/internal/wire"
)

// dialect is the chat completions protocol as one configured server speaks it.
type dialect struct {
	model       string
	can         provider.Capabilities
	objectOnly  bool
	newTokens   bool
	streamUsage bool
}

type request struct {
	Model               string          `json:"model"`
	Messages            []question      `json:"messages"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	MaxTokens           *int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int            `json:"max_completion_tokens,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
}

type question struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// Encode implements wire.Dialect.
func (d *dialect) Encode(req provider.Request, stream bool) (string, []byte, error) {
	p := req.Params
	r := request{
		Model:          d.model,
		ResponseFormat: d.format(req.Output),
		Temperature:    p.Temperature, TopP: p.TopP, Seed: p.Seed, Stop: p.Stop,
		Stream: stream,
	}
	if system := req.System.Reveal(); system != "" {
		r.Messages = append(r.Messages, question{"system", system})
	}
	r.Messages = append(r.Messages, question{"user", req.Prompt.Reveal()})
	if d.newTokens {
		r.MaxCompletionTokens = p.MaxTokens
	} else {
		r.MaxTokens = p.MaxTokens
	}
	if stream && d.streamUsage {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	body, err := wire.Marshal(r)
	return "/chat/completions", body, err
}

// strict is what OpenAI documents for strict schemas, kept to what has held since the first version.
var strict = wire.Subset{
	Keywords: wire.Words("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
		"definitions", "title", "description"),
	AllRequired: true, MaxDepth: 5, MaxFields: 100,
}

func (d *dialect) format(out *provider.OutputSchema) *responseFormat {
	if out == nil {
		return nil
	}
	isObject := !d.objectOnly || wire.RootType(out.JSON) == "object"
	switch {
	case d.can.Has(provider.CapabilitiesOf(provider.JSONSchema)) && isObject:
		schema := wire.Bare(out.JSON)
		return &responseFormat{"json_schema", &jsonSchema{out.Name, schema, strict.Holds(schema)}}
	case d.can.Has(provider.CapabilitiesOf(provider.JSONMode)) && isObject:
		return &responseFormat{Type: "json_object"}
	}
	return nil
}
