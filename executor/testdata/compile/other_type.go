// A result of one type is no result of another, also where no value is in sight.
package fixture

import "fourfold/executor"

var (
	_ executor.Result[int] = executor.OK[string]{}        // ERROR "wrong type for method sealed"
	_ executor.Result[int] = executor.Degraded[string]{}  // ERROR "wrong type for method sealed"
	_ executor.Result[int] = executor.Abstained[string]{} // ERROR "wrong type for method sealed"
	_ executor.Result[int] = executor.Failed[string]{}    // ERROR "wrong type for method sealed"
)

func assign(r executor.Result[string]) executor.Result[int] {
	return r // ERROR "wrong type for method sealed"
}

func ask(r executor.Result[string]) bool {
	_, ok := r.(executor.OK[int]) // ERROR "impossible type assertion"
	return ok
}
