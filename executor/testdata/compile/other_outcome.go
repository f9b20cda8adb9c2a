// A result of one outcome cannot be converted into one of another.
package fixture

import "fourfold/executor"

func whitewash(r executor.Degraded[string]) executor.OK[string] {
	return executor.OK[string](r) // ERROR "cannot convert"
}

func invent(r executor.Failed[string]) executor.Degraded[string] {
	return executor.Degraded[string](r) // ERROR "cannot convert"
}

func shrug(r executor.Abstained[string]) executor.OK[string] {
	return executor.OK[string](r) // ERROR "cannot convert"
}

func forge(value string) executor.OK[string] {
	return executor.OK[string]{value} // ERROR "implicit assignment|too few values|cannot use"
}
