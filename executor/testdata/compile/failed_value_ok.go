// The other three have a value, and what may be FAILED can be asked whether it has one.
package fixture

import "fourfold/executor"

func readOK(r executor.OK[string]) string               { return r.Value() }
func readDegraded(r executor.Degraded[string]) string   { return r.Value() }
func readAbstained(r executor.Abstained[string]) string { return r.Value() }

func readAny(r executor.Result[string]) (string, bool) {
	u, ok := r.(executor.Usable[string])
	if !ok {
		return "", false
	}
	return u.Value(), true
}

func read(r executor.Failed[string]) executor.Envelope { return r.Envelope() }

var (
	_ executor.Usable[string] = executor.OK[string]{}
	_ executor.Usable[string] = executor.Degraded[string]{}
	_ executor.Usable[string] = executor.Abstained[string]{}
)
