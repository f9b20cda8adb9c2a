package runstate

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/tasks/internal/lua"
)

// Store changes and reads run state. It is safe for many goroutines; the Redis client is the caller's.
type Store struct {
	rdb           redis.UniversalClient
	postingCreate *redis.Script // createScript with the queue's own script in it; nil: none
	queues        atomic.Pointer[map[string]*queueKeys]
	births        gather[birthKind]
	endings       gather[endingKind]
}

// NewStore returns a store over rdb.
func NewStore(rdb redis.UniversalClient) *Store {
	s := &Store{rdb: rdb}
	s.births.do, s.births.company = s.create, true
	s.endings.do = s.settle
	return s
}

// WithPoster returns a store whose Create can put tasks into the queue: script, which reads KEYS and ARGV as a script of
// its own would, becomes a function of the one that makes the run, so that nothing can come between the two.
func (s *Store) WithPoster(script string) *Store {
	posting := NewStore(s.rdb)
	posting.postingCreate = ofMany(lua.Function("post", script) + createLua)
	return posting
}

// Word is what a script found.
type Word string

// The words of the scripts.
const (
	Created  Word = "created"
	Exists   Word = "exists"   // the same run was made before
	Conflict Word = "conflict" // the key was used for another bundle or input
	Unkept   Word = "unkept"   // nobody has said of late that the bundle is there for this queue: KeepBundle does
	Gone     Word = "gone"     // no such run or unit
	Stale    Word = "stale"    // of an earlier generation
	Done     Word = "done"     // ended already: nothing was changed
	Busy     Word = "busy"     // claimed by a live worker
	Suspect  Word = "suspect"  // not claimed: it has been lost with more workers than the terms trust
	Claimed  Word = "claimed"
	Lost     Word = "lost" // the claim is somebody else's
	Parked   Word = "parked"
	Settled  Word = "settled"
	Expanded Word = "expanded"
	Overdue  Word = "deadline" // the run was past its deadline and has been ended
	Crashed  Word = "crash"    // the unit was delivered too often and has been ended
	Canceled Word = "canceled"
	Rejected Word = "rejected"
	Finished Word = "finished" // the run had ended before
	Open     Word = "open"
	Nothing  Word = "nothing" // every step has a value
	Rerun    Word = "rerun"

	overdue Word = "overdue" // begin and visit say so, and the script of this name ends the run
	worn    Word = "worn"    // begin says so, and crash ends the unit
	slow    Word = "slow"    // a quick script says so: the case is not the common one
	taken   Word = "taken"   // the quick begin says so: claimed, but its inputs must be asked for
)

// Ready is a unit that a script made runnable, with the marker that its task carries.
type Ready struct {
	Unit   Unit
	Marker Marker
}

// Closed is a step that a script ended.
type Closed struct {
	Step    int
	Outcome executor.Outcome
	Cause   Cause
	Skipped bool
	Marker  Marker // outgoing
}

// Change is what a script did to a run.
type Change struct {
	Word       Word
	Finished   bool // the run is done
	Generation int
	Open       int
	Marker     Marker // the run's
	Latency    time.Duration
	Ready      []Ready // of what became runnable, what must be rung for
	Next       *Next   // what the caller goes on with itself; nil: nothing
	Closed     []Closed
	Items      []ItemEnd // of the for_each step that this change settled, in order
}

// ItemEnd is how one item of a for_each step ended.
type ItemEnd struct {
	Outcome executor.Outcome
	Cause   Cause
	End     StepEnd
}

// Entry is the outbox entry of r, which belongs to the changed run.
func (c Change) Entry(ref Ref, r Ready) Entry {
	return Entry{Ref: ref, Generation: c.Generation, Unit: r.Unit}
}

func (s *Store) run(ctx context.Context, script *redis.Script, r Ref, args ...any) ([]any, error) {
	q := s.queue(r.Queue)
	c := newCommand(6, 1+len(args))
	c.add(q.run+r.Run, q.val+r.Run, q.outbox, q.due, q.claims, q.failed, r.Run)
	c.add(args...)
	return s.call(ctx, script, c)
}

func (s *Store) change(ctx context.Context, script *redis.Script, r Ref, args ...any) (Change, error) {
	got, err := s.run(ctx, script, r, args...)
	if err != nil {
		return Change{}, err
	}
	return decodeChange(got, Onward{})
}

func decodeChange(got []any, on Onward) (Change, error) {
	word, _ := got[0].(string)
	c := Change{Word: Word(word)}
	if len(got) < 6 {
		return c, nil
	}
	err := c.decodeRun(str(got[1]), str(got[2]))
	if err != nil {
		return c, err
	}
	ready := list(got[3])
	for i := 0; i+1 < len(ready); i += 2 {
		r, err := decodeReady(str(ready[i]), str(ready[i+1]))
		if err != nil {
			return c, err
		}
		c.Ready = append(c.Ready, r)
	}
	if c.Next, err = decodeNext(list(got[5]), on); err != nil {
		return c, err
	}
	for _, v := range list(got[4]) {
		closed, err := decodeClosed(str(v))
		if err != nil {
			return c, err
		}
		c.Closed = append(c.Closed, closed)
	}
	if len(got) > 7 {
		c.Items, err = decodeItems(list(got[7]))
	}
	return c, err
}

// decodeRun reads the run's record in short, and when the run was made.
func (c *Change) decodeRun(record, created string) error {
	head := strings.SplitN(record, "|", 5)
	if len(head) != 5 {
		return errRecord
	}
	var errs [3]error
	c.Finished = head[0] == "d"
	c.Generation, errs[0] = index(head[1])
	c.Open, errs[1] = index(head[2])
	if c.Finished {
		c.Latency = millis(head[3]).Sub(millis(created))
	}
	c.Marker, errs[2] = ParseMarker(head[4])
	return cmp.Or(errs[:]...)
}

func decodeReady(unit, marker string) (r Ready, err error) {
	if r.Unit, err = ParseUnit(unit); err != nil {
		return Ready{}, err
	}
	r.Marker, err = ParseMarker(marker)
	return r, err
}

func decodeClosed(s string) (Closed, error) {
	p := strings.SplitN(s, "|", 5)
	if len(p) != 5 {
		return Closed{}, errRecord
	}
	step, err1 := index(p[0])
	outcome, err2 := index(p[1])
	cause, err3 := index(p[2])
	marker, err4 := ParseMarker(p[4])
	return Closed{step, executor.Outcome(outcome), Cause(cause), p[3] == "1", marker}, cmp.Or(err1, err2, err3, err4)
}

func decodeItems(vs []any) ([]ItemEnd, error) {
	var out []ItemEnd
	for _, v := range vs {
		rec, err := decodeStep(str(v))
		if err != nil {
			return nil, err
		}
		out = append(out, ItemEnd{rec.Outcome, rec.Cause, rec.End})
	}
	return out, nil
}

// str is a script's value as text: numbers come back as int64, nil as nothing.
func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// millis reads a time in milliseconds since 1970; 0 is the zero time.
func millis(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
