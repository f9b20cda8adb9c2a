// Package documentintake holds the files of the document-intake flow, so that a program can carry them in its binary.
package documentintake

import "embed"

// Files are the flow (flow.yaml), what it names, and sample documents (documents.jsonl, one JSON object a line).
//
//go:embed flow.yaml prompts schemas documents.jsonl
var Files embed.FS
