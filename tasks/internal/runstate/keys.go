package runstate

import (
	"fmt"
	"strconv"
	"strings"
)

// Ref names a run: its queue and its whole id.
type Ref struct{ Queue, Run string }

// Whole is the item number of a unit that is a whole step.
const Whole = -1

// Unit is what a worker works on: a step by its topological index, or one item of a for_each step.
type Unit struct {
	Step int
	Item int // Whole for a step
}

// Step returns the unit of a whole step.
func Step(index int) Unit { return Unit{index, Whole} }

// DoneUnit is the outbox's name for the task that tells a producer's queue that the run is done.
var DoneUnit = Unit{-1, Whole}

func (u Unit) String() string {
	switch {
	case u == DoneUnit:
		return "!"
	case u.Item == Whole:
		return strconv.Itoa(u.Step)
	}
	return strconv.Itoa(u.Step) + "." + strconv.Itoa(u.Item)
}

// ParseUnit reads what String wrote.
func ParseUnit(s string) (Unit, error) {
	if s == "!" {
		return DoneUnit, nil
	}
	step, item, isItem := strings.Cut(s, ".")
	u := Unit{Item: Whole}
	var err error
	if u.Step, err = index(step); err != nil {
		return Unit{}, err
	}
	if isItem {
		if u.Item, err = index(item); err != nil {
			return Unit{}, err
		}
	}
	return u, nil
}

func index(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("runstate: not an index")
	}
	return n, nil
}

// Entry is one outbox entry: a unit that is to be rung.
type Entry struct {
	Ref
	Generation int
	Unit       Unit
	Redrive    int
}

// Member is the entry as the outbox and the task id hold it.
func (e Entry) Member() string {
	return e.Run + ":" + strconv.Itoa(e.Generation) + ":" + e.Unit.String() + ":" + strconv.Itoa(e.Redrive)
}

// ParseEntry reads what Member wrote.
func ParseEntry(queue, member string) (Entry, error) {
	parts := strings.Split(member, ":")
	if len(parts) != 4 {
		return Entry{}, fmt.Errorf("runstate: not an outbox entry")
	}
	e, err := parseClaim(queue, strings.Join(parts[:3], ":"))
	if err != nil {
		return Entry{}, err
	}
	e.Redrive, err = index(parts[3])
	return e, err
}

// parseClaim reads a member of the claims: an entry without its redrive number.
func parseClaim(queue, member string) (Entry, error) {
	parts := strings.Split(member, ":")
	if len(parts) != 3 {
		return Entry{}, fmt.Errorf("runstate: not a claim")
	}
	gen, err := index(parts[1])
	if err != nil {
		return Entry{}, err
	}
	unit, err := ParseUnit(parts[2])
	return Entry{Ref: Ref{queue, parts[0]}, Generation: gen, Unit: unit}, err
}

func base(queue string) string         { return "fourfold:{" + queue + "}:" }
func runPrefix(queue string) string    { return base(queue) + "run:" }
func runKey(r Ref) string              { return runPrefix(r.Queue) + r.Run }
func valKey(r Ref) string              { return base(r.Queue) + "val:" + r.Run }
func outboxKey(queue string) string    { return base(queue) + "outbox" }
func dueKey(queue string) string       { return base(queue) + "due" }
func claimsKey(queue string) string    { return base(queue) + "claims" }
func failedKey(queue string) string    { return base(queue) + "failed" }
func sweeperKey(queue string) string   { return base(queue) + "sweeper" }
func keptKey(queue, sha string) string { return base(queue) + "kept:" + sha }
func bundleKey(sha string) string      { return "fourfold:bundle:" + sha }

// DoneChannel is where the end of a run is published; a hint, never the only way to learn of it.
func DoneChannel(run string) string { return "fourfold:done:" + run }

// CancelChannels is the pattern of the channels on which runs are published some or all of whose steps were cancelled; a hint,
// beats tell it too.
const CancelChannels = "fourfold:cancel:*"

// CanceledRun is the run that a message on one of CancelChannels is about.
func CanceledRun(channel string) string { return strings.TrimPrefix(channel, "fourfold:cancel:") }
