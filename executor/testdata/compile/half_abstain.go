// Half an abstain pair cannot be written.
package fixture

import "fourfold/executor"

func on() bool   { return true }
func to() string { return "" }

var (
	_ = executor.AbstainWhen(on)             // ERROR "not enough arguments|cannot infer T"
	_ = executor.AbstainWhen[string](on)     // ERROR "not enough arguments"
	_ = executor.AbstainWhen(on, nil)        // ERROR "cannot infer T"
	_ = executor.Abstain[string]{on: on}     // ERROR "unexported field on"
	_ = executor.Abstain[string]{to: to}     // ERROR "unexported field to"
	_ = executor.Abstain[string]{on, to}     // ERROR "implicit assignment"
	_ = executor.Step[string]{Abstain: on}   // ERROR "cannot use on"
	_ = executor.Step[string]{AbstainOn: on} // ERROR "unknown field AbstainOn"
)

var _ = executor.Step[int]{Abstain: executor.AbstainWhen(on, to)} // ERROR "cannot use"
