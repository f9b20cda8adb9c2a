// Package flow reads flow files: the steps of a run and what needs what, with their prompts and schemas.
package flow

import (
	"encoding/json"
	"io/fs"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// Mode is what an edge asks of its parent.
type Mode uint8

// The edge modes.
const (
	Require Mode = iota
	Optional
	Always
)

func (m Mode) String() string { panic("unbuilt") }

// Edge is one entry of needs.
type Edge struct {
	Step  executor.StepID
	Index int // of the parent in Flow.Steps
	Mode  Mode
}

// Flow is a checked flow. Steps are in topological order, ties in file order; a step's index in it is its topological index.
type Flow struct {
	Name     string
	Deadline time.Duration // zero: none
	FailFast bool
	Steps    []*Step
}

// Step is one step of a flow, ready to run.
type Step struct {
	ID       executor.StepID
	Index    int
	Needs    []Edge
	Children []Edge // Index and Step name the child
	Handler  string // instead of a prompt
	Chain    string
	Requires provider.Capabilities
	Params   provider.Params
	Budget   executor.Budget
	MaxWait  time.Duration // longest time parked; zero: the worker's default
	ForEach  *ForEach      // nil: the step runs once
	// unexported: compiled templates, schema, expressions
}

// ForEach runs a step once per item.
type ForEach struct {
	MaxInFlight   int  // zero: no bound of its own
	DegradeFailed bool // on_item_failure: degrade
}

func (f *Flow) Step(id executor.StepID) (*Step, bool) { panic("unbuilt") }
func (s *Step) Sink() bool                            { panic("unbuilt") } // no children
func (s *Step) HasAbstain() bool                      { panic("unbuilt") }
func (s *Step) HasDegrade() bool                      { panic("unbuilt") }
func (s *Step) OutputSchema() *provider.OutputSchema  { panic("unbuilt") } // nil: text as a JSON string

// Validate says whether value fits the step's output schema; the error names keyword and schema location, never content.
func (s *Step) Validate(value json.RawMessage) error { panic("unbuilt") }

// Inputs is what a step's templates and expressions see. Item is set within for_each.
type Inputs struct {
	Input content.Of[json.RawMessage]
	Steps map[executor.StepID]Parent
	Item  content.Of[json.RawMessage]
}

// Parent is a finished step as its children see it. Value is zero when it failed or was skipped.
type Parent struct {
	Outcome executor.Outcome
	Value   content.Of[json.RawMessage]
}

// Bound is a step with its inputs decoded.
type Bound struct{}

// Bind decodes the inputs once. Its errors, and those of Bound's methods, are content-free.
func (s *Step) Bind(in Inputs) (*Bound, error)                          { panic("unbuilt") }
func (b *Bound) Prompt() (system, prompt content.Of[string], err error) { panic("unbuilt") }
func (b *Bound) Abstains() (bool, error)                                { panic("unbuilt") }
func (b *Bound) AbstainTo() (content.Of[json.RawMessage], error)        { panic("unbuilt") }
func (b *Bound) DegradeTo() (content.Of[json.RawMessage], error)        { panic("unbuilt") }
func (b *Bound) Items() ([]content.Of[json.RawMessage], error)          { panic("unbuilt") }

// SHA addresses a bundle: the SHA-256 of its encoding. It is the prompt_bundle_sha of envelopes.
type SHA = executor.PromptSHA

// Bundle is a flow with every file that it names.
type Bundle struct{}

// Load reads and checks the flow file at path and every file it names (relative to the flow file's folder). The error is Problems.
func Load(fsys fs.FS, path string) (*Bundle, error) { panic("unbuilt") }

// Decode reads what Encode wrote and checks it again.
func Decode(data []byte) (*Bundle, error) { panic("unbuilt") }

func (b *Bundle) Encode() []byte { panic("unbuilt") }
func (b *Bundle) SHA() SHA       { panic("unbuilt") }
func (b *Bundle) Flow() *Flow    { panic("unbuilt") }

// Problem is one thing wrong with a bundle.
type Problem struct {
	File         string
	Line, Column int // from 1; 0: the whole file
	Message      string
}

// Problems is every problem found, in file order. It is an error.
type Problems []Problem

func (p Problems) Error() string { panic("unbuilt") }

// Offer is what a worker's configuration offers; Check holds a flow against it.
type Offer struct {
	Chains   map[string]*provider.Chain
	Handlers map[string]bool
}

// Check says which chains, handlers and capabilities the flow names that the offer lacks.
func (f *Flow) Check(o Offer) error { panic("unbuilt") }
