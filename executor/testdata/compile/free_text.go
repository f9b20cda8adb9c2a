// Identifiers are made by their parsers alone, so that an envelope cannot hold free text.
package fixture

import "fourfold/executor"

var text = "free text"

var (
	_ = executor.StepID{text}               // ERROR "implicit assignment"
	_ = executor.StepID{s: text}            // ERROR "unexported field s"
	_ = executor.StepID(text)               // ERROR "cannot convert"
	_ = executor.ModelVersion(text)         // ERROR "cannot convert"
	_ = executor.Envelope{Step: "classify"} // ERROR "cannot use"
	_ = executor.Envelope{Model: text}      // ERROR "cannot use"
	_ = executor.Usage{true, 1, 2}          // ERROR "implicit assignment"
)
