package flow

import (
	"errors"
	"fmt"
	"strings"

	"fourfold/executor"
)

// EvalError says that a template or expression of a step could not be evaluated on the inputs of a run, or made a
// value that does not fit. Its text names the step, the key, the place in the bundle and one of a few fixed
// reasons, never content. It classifies as parse, or as schema when the value broke the step's schema, and never
// asks for another attempt: the same inputs give the same result.
type EvalError struct {
	Step executor.StepID
	Key  string // of the flow file, such as abstain.on; or the input that could not be read, such as steps.extract
	File string // of the bundle; empty when the error has no place
	Line int    // from 1; 0: not known
	// Column counts characters from 1; 0: not known.
	Column int

	reason error
}

func (e *EvalError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flow: step %s: %s", e.Step, e.Key)
	if e.File != "" {
		fmt.Fprintf(&b, " (%s", e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		if e.Line > 0 && e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
		b.WriteByte(')')
	}
	fmt.Fprintf(&b, " %v", e.reason)
	return b.String()
}

// Unwrap gives the reason: a *SchemaError when the value did not fit the output schema.
func (e *EvalError) Unwrap() error { return e.reason }

// Failure classifies the error for the executor.
func (e *EvalError) Failure() executor.Failure {
	class := executor.ClassParse
	if _, ok := errors.AsType[*SchemaError](e.reason); ok {
		class = executor.ClassSchema
	}
	return executor.Failure{Class: class, Retry: executor.RetryNo, Err: e}
}

// SchemaError says which rule of the output schema a value breaks. It names places in the schema alone, never the
// value or a property name that only the value has. It classifies as schema.
type SchemaError struct {
	Keyword  string // of JSON Schema, such as required; empty for the schema false
	Location string // of the rule: a file of the bundle and a JSON pointer into it
}

func (e *SchemaError) Error() string {
	if e.Keyword == "" {
		return "breaks the output schema at " + e.Location
	}
	return "breaks " + e.Keyword + " of the output schema at " + e.Location
}

// Failure classifies the error for the executor.
func (e *SchemaError) Failure() executor.Failure {
	return executor.Failure{Class: executor.ClassSchema, Err: e}
}

// ValueError says that something that should be one JSON value is none. It classifies as parse.
type ValueError struct{}

func (*ValueError) Error() string { return "is not one JSON value" }

// Failure classifies the error for the executor.
func (e *ValueError) Failure() executor.Failure {
	return executor.Failure{Class: executor.ClassParse, Err: e}
}
