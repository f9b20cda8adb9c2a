// Match needs all four, each for its own outcome.
package fixture

import "fourfold/executor"

func ok(executor.OK[string]) int               { return 1 }
func degraded(executor.Degraded[string]) int   { return 2 }
func abstained(executor.Abstained[string]) int { return 3 }
func failed(executor.Failed[string]) int       { return 4 }
func text(executor.Failed[string]) string      { return "4" }

func three(r executor.Result[string]) int {
	return executor.Match(r, ok, degraded, abstained) // ERROR "not enough arguments"
}

func five(r executor.Result[string]) int {
	return executor.Match(r, ok, degraded, abstained, failed, failed) // ERROR "too many arguments"
}

func swapped(r executor.Result[string]) int {
	return executor.Match(r, degraded, ok, abstained, failed) // ERROR "does not match"
}

func mixed(r executor.Result[string]) int {
	return executor.Match(r, ok, degraded, abstained, text) // ERROR "does not match"
}
