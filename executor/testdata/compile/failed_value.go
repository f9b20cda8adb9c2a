// A FAILED step has no value, and nothing that may be FAILED gives one.
package fixture

import "fourfold/executor"

func readFailed(r executor.Failed[string]) string {
	return r.Value() // ERROR "Value undefined"
}

func readAny(r executor.Result[string]) string {
	return r.Value() // ERROR "Value undefined"
}

var _ executor.Usable[string] = executor.Failed[string]{} // ERROR "missing method Value"

func assert(r executor.Failed[string]) string {
	var u executor.Usable[string] = r // ERROR "missing method Value"
	return u.Value()
}

func field(r executor.Failed[string]) string {
	return (*r.p).value // ERROR "r.p undefined"
}
