package flow

import (
	"encoding/json"

	"fourfold/content"
	"fourfold/executor"
)

// MaxItems is how many items a for_each step may have.
const MaxItems = 1000

// Inputs is what a step's templates and expressions see.
type Inputs struct {
	// Input is the run's input: one JSON value.
	Input content.Of[json.RawMessage]
	// Steps holds the parents. Those that the step does not need are not seen. A `require` parent must be there;
	// an `optional` or `always` one that is not counts as FAILED.
	Steps map[executor.StepID]Parent
	// Item is the item of a for_each step, and Index its place from 0. Item is zero for the step as a whole.
	Item  content.Of[json.RawMessage]
	Index int
}

// Parent is a finished step as its children see it.
type Parent struct {
	Outcome executor.Outcome
	Value   content.Of[json.RawMessage] // zero when it failed or was skipped; children then see null
}
