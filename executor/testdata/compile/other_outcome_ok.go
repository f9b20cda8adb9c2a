// It may be used as what it is.
package fixture

import "fourfold/executor"

func keep(r executor.Degraded[string]) executor.Usable[string] { return r }

func convert(r executor.Degraded[string]) executor.Degraded[string] {
	return executor.Degraded[string](r)
}

func zero() executor.OK[string] { return executor.OK[string]{} }
