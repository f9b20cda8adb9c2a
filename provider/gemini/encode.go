package gemini

import (
	"encoding/json"

	"fourfold/provider"
	"fourfold/provider/internal/wire"
)

// dialect is the generateContent API for one model.
type dialect struct {
	model string
	can   provider.Capabilities
}

type request struct {
	System     *turn      `json:"systemInstruction,omitempty"`
	Contents   []turn     `json:"contents"`
	Generation generation `json:"generationConfig"`
}

type turn struct {
	Role  string `json:"role,omitempty"`
	Parts []text `json:"parts"`
}

type text struct {
	Text string `json:"text"`
}

type generation struct {
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"topP,omitempty"`
	MaxTokens   *int            `json:"maxOutputTokens,omitempty"`
	Seed        *int64          `json:"seed,omitempty"`
	Stop        []string        `json:"stopSequences,omitempty"`
	MIMEType    string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// Encode implements wire.Dialect.
func (d *dialect) Encode(req provider.Request, stream bool) (string, []byte, error) {
	p := req.Params
	r := request{
		Contents: []turn{{Role: "user", Parts: []text{{req.Prompt.Reveal()}}}},
		Generation: generation{
			Temperature: p.Temperature, TopP: p.TopP, MaxTokens: p.MaxTokens, Seed: p.Seed, Stop: p.Stop,
		},
	}
	if system := req.System.Reveal(); system != "" {
		r.System = &turn{Parts: []text{{system}}}
	}
	if req.Output != nil {
		switch {
		case d.can.Has(provider.CapabilitiesOf(provider.JSONSchema)):
			r.Generation.MIMEType, r.Generation.Schema = "application/json", wire.Bare(req.Output.JSON)
		case d.can.Has(provider.CapabilitiesOf(provider.JSONMode)):
			r.Generation.MIMEType = "application/json"
		}
	}
	body, err := wire.Marshal(r)
	if stream {
		return "/models/" + d.model + ":streamGenerateContent?alt=sse", body, err
	}
	return "/models/" + d.model + ":generateContent", body, err
}
