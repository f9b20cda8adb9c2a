package runstate

import (
	"context"
	"strconv"
	"strings"

	"fourfold/executor"
)

// Ending is how a unit ended.
type Ending struct {
	Outcome executor.Outcome
	Cause   Cause
	End     StepEnd
	Value   []byte // nil for FAILED
	Carried Marker // by the task; joined with the state's own
	Onward  Onward
}

// Complete settles a unit: stores, joins, counts, skips or fires its children, finishes the run with the last one.
// A unit that is done already is left as it is; a caller that is handed what it goes on with, and asks again, is answered as before.
// Words: Settled, Done, Stale, Gone.
func (s *Store) Complete(ctx context.Context, t Task, e Ending) (Change, error) {
	if t.Unit.Item == Whole && e.Outcome != executor.OutcomeFailed && len(e.Value) > 0 {
		if c, done, err := s.completeQuickly(ctx, t, e); done || err != nil {
			return c, err
		}
	}
	args := append([]any{
		t.Generation, t.Unit.String(), int(e.Outcome), int(e.Cause), e.End.encode(), e.Carried.String(), e.Value, t.Token,
	}, e.Onward.args()...)
	got, err := s.run(ctx, completeScript, t.Ref, args...)
	if err != nil {
		return Change{}, err
	}
	return decodeChange(got, e.Onward)
}

// completeQuickly asks the quick script; done is false when it says that it is not for this case.
func (s *Store) completeQuickly(ctx context.Context, t Task, e Ending) (c Change, done bool, err error) {
	got, err := s.endings.ask(ctx, endingKind{t.Queue, len(e.Value) > largeValue}, s.ending(t, e))
	if err != nil || got == any(string(slow)) {
		return Change{}, false, err
	}
	said, _ := got.(string)
	c, err = decodeSettled(said, t.Unit.Step, e.Outcome)
	return c, true, err
}

// ending is the unit's share of the script that ends it.
func (s *Store) ending(t Task, e Ending) *share {
	var known strings.Builder
	for step, terms := range e.Onward.Steps {
		if terms.wants() == "" {
			known.WriteString("," + strconv.Itoa(step))
		}
	}
	known.WriteByte(',')
	q := s.queue(t.Queue)
	return newShare(2, q.run+t.Run, q.val+t.Run,
		t.Run, t.Generation, t.Unit.Step, strconv.Itoa(int(e.Outcome))+"|"+strconv.Itoa(int(e.Cause)), e.End.encode(), e.Carried.String(),
		e.Value, e.Onward.Token, e.Onward.Lease.Milliseconds(), known.String())
}

// endingKind is what steps that end by one script have in common.
type endingKind struct {
	queue string
	large bool // it has a script to itself
}

func (k endingKind) most() int {
	if k.large {
		return 1
	}
	return mostAtOnce
}

// settle ends steps of one queue.
func (s *Store) settle(k endingKind, endings []*share) {
	q := s.queue(k.queue)
	s.serve(quickCompleteScript, []any{q.outbox, q.due, q.claims}, nil, endings)
}

// decodeSettled reads what the quick script says of a step that ended so.
func decodeSettled(said string, step int, outcome executor.Outcome) (Change, error) {
	p := strings.Split(said, ";")
	if len(p) < 7 || len(p)%2 == 0 {
		return Change{}, errRecord
	}
	c := Change{Word: Word(p[0])}
	if err := c.decodeRun(p[1], p[2]); err != nil {
		return c, err
	}
	closed, err := decodeClosed(p[3])
	if err != nil {
		return c, err
	}
	c.Closed = []Closed{closed}
	if p[4] != "" {
		next, err := decodeReady(p[4], p[5])
		if err != nil {
			return c, err
		}
		c.Next = &Next{next.Unit, Grant{
			Marker: next.Marker, Deliveries: 1, Left: duration(p[6]), Parents: map[int]executor.Outcome{step: outcome}, Values: map[int][]byte{},
		}}
	}
	for i := 7; i < len(p); i += 2 {
		ready, err := decodeReady(p[i], p[i+1])
		if err != nil {
			return c, err
		}
		c.Ready = append(c.Ready, ready)
	}
	return c, nil
}

// Expand splits a for_each step into its items, at most inFlight of them runnable at once (0: all). Words: Expanded,
// Settled (a rerun kept every item), Done, Stale, Gone.
func (s *Store) Expand(ctx context.Context, t Task, inFlight int, items [][]byte, on Onward) (Change, error) {
	args := make([]any, 0, 7+len(items))
	args = append(args, t.Generation, t.Unit.String(), t.Token, inFlight)
	args = append(args, on.args()...)
	for _, item := range items {
		args = append(args, item)
	}
	got, err := s.run(ctx, expandScript, t.Ref, args...)
	if err != nil {
		return Change{}, err
	}
	return decodeChange(got, on)
}

// Cancel ends every open step as cancelled. Words: Canceled, Finished, Gone.
func (s *Store) Cancel(ctx context.Context, r Ref) (Change, error) {
	return s.change(ctx, cancelScript, r)
}

// Reject ends every open step of a run whose bundle is gone or unreadable. Words: Rejected, Done, Gone.
func (s *Store) Reject(ctx context.Context, r Ref, generation int) (Change, error) {
	return s.change(ctx, rejectScript, r, generation)
}

// Rerun starts a new generation. Words: Rerun, Open, Nothing, Gone.
func (s *Store) Rerun(ctx context.Context, r Ref) (Change, error) {
	return s.change(ctx, rerunScript, r, FirstVisit.Milliseconds())
}
