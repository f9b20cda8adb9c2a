package executor

// Outcome is how a step ended. The zero value is no outcome at all.
// The numeric order is the order of joins: ABSTAINED < OK < DEGRADED < FAILED.
type Outcome uint8

// The four outcomes, in the order of joins.
const (
	OutcomeNone Outcome = iota
	OutcomeAbstained
	OutcomeOK
	OutcomeDegraded
	OutcomeFailed
)

// FailureClass is why the last attempt of a step failed. The zero value is none.
type FailureClass uint8

// The five failure classes.
const (
	ClassNone FailureClass = iota
	ClassTimeout
	ClassParse
	ClassSchema
	ClassUpstream5xx
	ClassUpstream4xx
)
