// A value of one's own is what results are for.
package fixture

import "fourfold/executor"

type mine struct{}

var (
	_ executor.Result[mine] = executor.OK[mine]{}
	_ executor.Usable[mine] = executor.OK[mine]{}
)

func call(r executor.Result[mine]) executor.Envelope { return r.Envelope() }
