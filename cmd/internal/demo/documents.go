package demo

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fourfold/content"
	documentintake "fourfold/examples/document-intake"
	"fourfold/flow"
)

// A document is one sample, with what goes wrong on its way.
type document struct {
	id    string
	input content.Of[json.RawMessage]
	story string // empty: nothing goes wrong, or a real provider decides
}

// samples reads the flow and the documents that the binary carries.
func samples() (*flow.Bundle, []document, error) {
	bundle, err := flow.Load(documentintake.Files, "flow.yaml")
	if err != nil {
		return nil, nil, err
	}
	data, err := documentintake.Files.ReadFile("documents.jsonl")
	if err != nil {
		return nil, nil, err
	}
	var docs []document
	for line := range bytes.Lines(data) {
		var head struct {
			ID string `json:"id"`
		}
		line = bytes.TrimSpace(line)
		if err := json.Unmarshal(line, &head); err != nil {
			return nil, nil, fmt.Errorf("documents.jsonl: %w", err)
		}
		docs = append(docs, document{id: head.ID, input: content.New(json.RawMessage(line))})
	}
	return bundle, docs, nil
}
