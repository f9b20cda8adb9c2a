package runstate

import (
	"fmt"
	"strconv"
	"strings"

	"fourfold/executor"
)

// Cause is why an outcome is worse than OK: a failure class, or one of five that are no LLM failures.
type Cause uint8

// The causes. Those up to CauseUpstream4xx are the executor's failure classes, number for number.
const (
	CauseNone        = Cause(executor.ClassNone)
	CauseTimeout     = Cause(executor.ClassTimeout)
	CauseParse       = Cause(executor.ClassParse)
	CauseSchema      = Cause(executor.ClassSchema)
	CauseUpstream5xx = Cause(executor.ClassUpstream5xx)
	CauseUpstream4xx = Cause(executor.ClassUpstream4xx)
	CauseCanceled    = Cause(6) // prelude.lua knows these numbers
	CauseDeadline    = Cause(7)
	CauseDependency  = Cause(8)
	CauseCrash       = Cause(9)
	CauseRejected    = Cause(10)
)

// Class is the failure class that c is, or none.
func (c Cause) Class() executor.FailureClass {
	if c <= CauseUpstream4xx {
		return executor.FailureClass(c)
	}
	return executor.ClassNone
}

// Marker is the worst outcome so far with the step and cause that first brought it. Step and cause are set for DEGRADED
// and FAILED only. The zero Marker has no outcome and is the identity of Join.
type Marker struct {
	Outcome executor.Outcome
	Step    int
	Cause   Cause
}

// NewMarker is the marker of one step's own outcome.
func NewMarker(o executor.Outcome, step int, c Cause) Marker {
	if o < executor.OutcomeDegraded {
		return Marker{Outcome: o}
	}
	return Marker{o, step, c}
}

// Join is the maximum by severity, then smaller index, then smaller cause: associative, commutative, idempotent.
func Join(a, b Marker) Marker {
	switch {
	case a.Outcome != b.Outcome:
		if a.Outcome > b.Outcome {
			return a
		}
		return b
	case a.Step != b.Step:
		if a.Step < b.Step {
			return a
		}
		return b
	case a.Cause <= b.Cause:
		return a
	}
	return b
}

// Lowered is what an optional edge passes on of a failed parent: DEGRADED for FAILED.
func (m Marker) Lowered() Marker {
	if m.Outcome == executor.OutcomeFailed {
		m.Outcome = executor.OutcomeDegraded
	}
	return m
}

func (m Marker) String() string {
	switch {
	case m.Outcome == executor.OutcomeNone:
		return ""
	case m.Outcome < executor.OutcomeDegraded:
		return strconv.Itoa(int(m.Outcome))
	}
	return strconv.Itoa(int(m.Outcome)) + "." + strconv.Itoa(m.Step) + "." + strconv.Itoa(int(m.Cause))
}

// ParseMarker reads what String wrote.
func ParseMarker(s string) (Marker, error) {
	if s == "" {
		return Marker{}, nil
	}
	parts := strings.Split(s, ".")
	if len(parts) != 1 && len(parts) != 3 {
		return Marker{}, errRecord
	}
	o, err := index(parts[0])
	if err != nil || o > int(executor.OutcomeFailed) || (o >= int(executor.OutcomeDegraded)) != (len(parts) == 3) || o == 0 {
		return Marker{}, errRecord
	}
	m := Marker{Outcome: executor.Outcome(o)}
	if len(parts) == 3 {
		cause, err := index(parts[2])
		if err != nil || cause > int(CauseRejected) {
			return Marker{}, errRecord
		}
		m.Cause = Cause(cause)
		if m.Step, err = index(parts[1]); err != nil {
			return Marker{}, errRecord
		}
	}
	return m, nil
}

var errRecord = fmt.Errorf("runstate: unreadable record")
