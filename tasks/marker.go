package tasks

import (
	"errors"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

// Cause is why an outcome is worse than OK: a failure class, or for what is no LLM failure one of canceled, deadline,
// dependency, crash, rejected. The zero value is none.
type Cause uint8

// The causes.
const (
	CauseNone        = Cause(runstate.CauseNone)
	CauseTimeout     = Cause(runstate.CauseTimeout)
	CauseParse       = Cause(runstate.CauseParse)
	CauseSchema      = Cause(runstate.CauseSchema)
	CauseUpstream5xx = Cause(runstate.CauseUpstream5xx)
	CauseUpstream4xx = Cause(runstate.CauseUpstream4xx)
	CauseCanceled    = Cause(runstate.CauseCanceled)   // somebody cancelled the run, or fail_fast did
	CauseDeadline    = Cause(runstate.CauseDeadline)   // the run's deadline passed
	CauseDependency  = Cause(runstate.CauseDependency) // a step that this one requires failed: it was skipped
	CauseCrash       = Cause(runstate.CauseCrash)      // its worker died on it too often
	CauseRejected    = Cause(runstate.CauseRejected)   // it could not be decoded, or its bundle is gone
)

var causeNames = map[Cause]string{
	CauseCanceled: "canceled", CauseDeadline: "deadline", CauseDependency: "dependency", CauseCrash: "crash", CauseRejected: "rejected",
}

// Causes returns all causes but none, failure classes first.
func Causes() []Cause {
	var all []Cause
	for c := CauseTimeout; c <= CauseRejected; c++ {
		all = append(all, c)
	}
	return all
}

func (c Cause) String() string {
	if name, ok := causeNames[c]; ok {
		return name
	}
	return runstate.Cause(c).Class().String()
}

// IsZero says whether c is none.
func (c Cause) IsZero() bool { return c == CauseNone }

// MarshalText writes what String says.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what ParseCause reads.
func (c *Cause) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCause(string(text))
	return err
}

// ErrCause is the error of a text that names no cause.
var ErrCause = errors.New("tasks: not a failure class, nor one of canceled, deadline, dependency, crash, rejected")

// ParseCause reads what String wrote. Errors: ErrCause.
func ParseCause(s string) (Cause, error) {
	for _, c := range Causes() {
		if c.String() == s {
			return c, nil
		}
	}
	return CauseNone, ErrCause
}

// Marker is the worst outcome so far with the step and cause that first brought it. Step and Cause are set for DEGRADED
// and FAILED only. It holds no content and only rises.
type Marker struct {
	Outcome executor.Outcome `json:"outcome"`
	Step    executor.StepID  `json:"step,omitzero"`
	Cause   Cause            `json:"cause,omitzero"`
}

// markerOf gives the state's marker the names that the flow's steps have.
func markerOf(m runstate.Marker, ids []executor.StepID) Marker {
	out := Marker{Outcome: m.Outcome, Cause: Cause(m.Cause)}
	if m.Outcome >= executor.OutcomeDegraded && m.Step < len(ids) {
		out.Step = ids[m.Step]
	}
	return out
}

func stepIDs(f *flow.Flow) []executor.StepID {
	ids := make([]executor.StepID, len(f.Steps))
	for i, s := range f.Steps {
		ids[i] = s.ID
	}
	return ids
}

// Counts are the finished steps of a run by outcome; skipped steps are counted apart from FAILED ones.
type Counts struct {
	OK        int `json:"ok"`
	Degraded  int `json:"degraded"`
	Abstained int `json:"abstained"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
}
