// With all four it returns what they return.
package fixture

import "fourfold/executor"

func ok(executor.OK[string]) int               { return 1 }
func degraded(executor.Degraded[string]) int   { return 2 }
func abstained(executor.Abstained[string]) int { return 3 }
func failed(executor.Failed[string]) int       { return 4 }

func four(r executor.Result[string]) int {
	return executor.Match(r, ok, degraded, abstained, failed)
}
