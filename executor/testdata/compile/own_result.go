// Nobody else can make a fifth outcome.
package fixture

import "fourfold/executor"

type mine struct{}

func (mine) Envelope() executor.Envelope { return executor.Envelope{} }
func (mine) Value() string               { return "" }
func (mine) sealed(string)               {}

var (
	_ executor.Result[string] = mine{} // ERROR "unexported method sealed|missing method sealed"
	_ executor.Usable[string] = mine{} // ERROR "unexported method sealed|missing method sealed"
)

func call(r executor.Result[string]) {
	r.sealed("") // ERROR "sealed undefined"
}
