// A whole pair can, and none.
package fixture

import "fourfold/executor"

func on() bool   { return true }
func to() string { return "" }

var (
	_ = executor.Step[string]{Abstain: executor.AbstainWhen(on, to)}
	_ = executor.Step[string]{Abstain: executor.Abstain[string]{}}
	_ = executor.Step[string]{}
)
