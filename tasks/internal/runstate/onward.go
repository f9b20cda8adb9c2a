package runstate

import (
	"strconv"
	"strings"
	"time"
)

// Onward says how a worker wants to go on, by the same script, with a unit that its change makes runnable: it then holds
// the claim, and neither outbox nor queue has the unit. The zero Onward does not want to.
type Onward struct {
	Token string
	Lease time.Duration
	// Steps are those that it may go on with, each with what the worker wants of its inputs: nothing, if it has them all.
	Steps map[int]Terms
}

func (o Onward) args() []any {
	if o.Token == "" {
		return []any{"", 0, ""}
	}
	var b strings.Builder
	b.WriteByte(';')
	for step, terms := range o.Steps {
		b.WriteString(strconv.Itoa(step))
		b.WriteByte('=')
		b.WriteString(terms.wants())
		b.WriteByte(';')
	}
	return []any{o.Token, o.Lease.Milliseconds(), b.String()}
}

// Next is the unit that a worker goes on with, and what it was handed with the claim.
type Next struct {
	Unit  Unit
	Grant Grant
}

func decodeNext(got []any, on Onward) (*Next, error) {
	if len(got) < 2 {
		return nil, nil
	}
	unit, err := ParseUnit(str(got[0]))
	if err != nil {
		return nil, err
	}
	g, err := decodeGrant(list(got[1]), on.Steps[unit.Step])
	return &Next{unit, g}, err
}
