package runstate

import (
	"time"

	"fourfold/tasks/internal/lua"
)

// MeetScript is Lua that begins the unit of a doorbell in the moment in which it is taken from its queue, where that is the
// common case: it reads the queue, the id of the doorbell, which is the Member of the entry that it answers, and then MeetArgs.
// What it answers is read by MetBy.
func MeetScript() string {
	return lua.Function("begin", quickBeginLua) + meetLua
}

// MeetArgs are the terms of a claim by MeetScript. The token must be new.
func MeetArgs(token string, lease time.Duration) []any { return []any{token, lease.Milliseconds()} }

// Met is what MeetScript said of one doorbell. The zero Met says nothing.
type Met struct {
	token string
	said  []any // what begin answers
}

// MetBy reads an answer of MeetScript's.
func MetBy(answer any) Met {
	parts := list(answer)
	if len(parts) != 2 {
		return Met{}
	}
	return Met{token: str(parts[0]), said: list(parts[1])}
}

// Claimed says whether the doorbell's unit was claimed. What it has for inputs may still have to be asked for, by Begin.
func (m Met) Claimed() bool { return m.granted() || m.word() == taken }

// granted says whether the unit was claimed and all its inputs were handed out.
func (m Met) granted() bool { return m.word() == Claimed }

func (m Met) word() Word {
	if len(m.said) == 0 {
		return ""
	}
	return Word(str(m.said[0]))
}

// Under returns the task with the token by which it was met, so that Begin knows what was said; without a Met it is t.
func (m Met) Under(t Task) Task {
	if m.token != "" {
		t.Token, t.met = m.token, m
	}
	return t
}

// Again returns the task for who begins it once more: what was said when it was taken is no longer so.
func (t Task) Again() Task {
	t.met = Met{}
	return t
}
