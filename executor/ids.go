package executor

import (
	"encoding/hex"
	"time"
)

type (
	// StepID names a step within its flow.
	StepID struct{ s string }
	// ModelVersion is the model that a provider says it answered with.
	ModelVersion struct{ s string }
	// PromptSHA is the SHA-256 of the bundle that a prompt comes from.
	PromptSHA [32]byte
)

func (id StepID) String() string      { return id.s }
func (m ModelVersion) String() string { return m.s }
func (p PromptSHA) String() string    { return hex.EncodeToString(p[:]) }

func ParseStepID(s string) (StepID, error) { return StepID{s}, nil }
func MustStepID(s string) StepID           { return StepID{s} }
func ModelVersionOf(s string) ModelVersion { return ModelVersion{s} }
func ParsePromptSHA(s string) (PromptSHA, error) {
	var p PromptSHA
	_, err := hex.Decode(p[:], []byte(s))
	return p, err
}

// Usage is the number of tokens paid for. The zero value is unknown, which is not the same as none.
type Usage struct {
	known         bool
	input, output int64
}

func Tokens(input, output int64) Usage { return Usage{true, input, output} }
func (u Usage) Known() bool            { return u.known }
func (u Usage) Input() int64           { return u.input }
func (u Usage) Output() int64          { return u.output }
func (u Usage) Add(v Usage) Usage {
	return Usage{u.known || v.known, u.input + v.input, u.output + v.output}
}

// Envelope is what may be logged of a step.
type Envelope struct {
	Step         StepID
	Outcome      Outcome
	FailureClass FailureClass
	Attempts     int
	Latency      time.Duration
	Model        ModelVersion
	Prompt       PromptSHA
	Usage        Usage
}
