// The parsers refuse what is none.
package fixture

import "fourfold/executor"

var text = "free text"

var (
	_, _ = executor.ParseStepID(text)
	_    = executor.Envelope{Step: executor.MustStepID("classify"), Model: executor.ModelVersionOf(text), Usage: executor.Tokens(1, 2)}
)
