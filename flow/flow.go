package flow

import (
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// Mode is what an edge asks of its parent. The zero value is Require.
type Mode uint8

// The edge modes.
const (
	Require  Mode = iota // a failed parent skips the step
	Optional             // the step runs without a failed parent, which then counts as DEGRADED
	Always               // the step runs however its parent ended; a failure stays one
)

var modeNames = [...]string{"require", "optional", "always"}

// String returns the mode as the flow file writes it: require, optional or always.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// Edge joins a step to one of its parents or children.
type Edge struct {
	Step  executor.StepID // at the other end
	Index int             // of that step in Flow.Steps
	Mode  Mode
}

// Flow is a checked flow. It is made by Load and Decode alone, and is not changed afterwards: any number of
// goroutines may read it.
type Flow struct {
	Name     string        // [a-z0-9][a-z0-9-]{0,62}
	Deadline time.Duration // of a whole run; zero: none
	FailFast bool          // a FAILED step cancels the branches that do not depend on it
	// Steps stand in topological order, ties in file order. A step's index here is its topological index.
	Steps []*Step
}

// Step is one step of a flow. Its fields are not changed after loading.
type Step struct {
	ID       executor.StepID
	Index    int    // in Flow.Steps
	Needs    []Edge // to the parents, in file order
	Children []Edge // to the steps that need this one, by index
	Handler  string // name of the Go function that serves the step; empty: the step is a prompt
	Chain    string // name of a chain of the worker's configuration; empty for a handler
	Requires provider.Capabilities
	Params   provider.Params
	Budget   executor.Budget
	MaxWait  time.Duration // longest time parked; zero: the worker's default
	ForEach  *ForEach      // nil: the step runs once

	code code
}

// ForEach runs a step once per item of a list. The step's value is the list of the items' values, in order.
type ForEach struct {
	MaxInFlight int // items of one run at a time; zero: no bound of its own
	// DegradeFailed (on_item_failure: degrade) makes a FAILED item count as DEGRADED with the value null.
	// Without it one FAILED item fails the step.
	DegradeFailed bool
}

// Step finds a step by its id.
func (f *Flow) Step(id executor.StepID) (*Step, bool) {
	for _, s := range f.Steps {
		if s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// Sink says whether no step needs this one: its value is a result of the run.
func (s *Step) Sink() bool { return len(s.Children) == 0 }

// HasAbstain says whether the step may abstain, so that Bound.Abstains is worth asking.
func (s *Step) HasAbstain() bool { return s.code.abstainOn != nil }

// HasDegrade says whether the step has a value for when its attempts are spent.
func (s *Step) HasDegrade() bool { return s.code.degradeTo != nil }

// OutputSchema is the schema that the step's answers must fit, as it is sent to providers: one document that
// refers to no other. It is nil when the step has none; a prompt's value is then its text as a JSON string.
func (s *Step) OutputSchema() *provider.OutputSchema { return s.code.output.sent() }

// Absorbable says whether a FAILED of this step counts as DEGRADED for the run: it has at least one child that
// is not `always`, and each such child names it `optional`. It follows from the flow alone, so that timing
// cannot change a result. (A step that was cancelled or ran into the deadline is never absorbed.)
func (s *Step) Absorbable() bool {
	optional := false
	for _, child := range s.Children {
		switch child.Mode {
		case Require:
			return false
		case Optional:
			optional = true
		case Always:
		}
	}
	return optional
}
