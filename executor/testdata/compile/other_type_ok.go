// A result is one of its own type.
package fixture

import "fourfold/executor"

var (
	_ executor.Result[int] = executor.OK[int]{}
	_ executor.Result[int] = executor.Degraded[int]{}
	_ executor.Result[int] = executor.Abstained[int]{}
	_ executor.Result[int] = executor.Failed[int]{}
)

func ask(r executor.Result[int]) bool {
	_, ok := r.(executor.OK[int])
	return ok
}
