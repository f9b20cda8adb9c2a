package runstate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"fourfold/executor"
)

// NewRun is a run to be made.
type NewRun struct {
	Ref
	InputHash string // short: with the bundle's SHA it says whether a key is used again for the same
	Shape     *Shape
	Window    time.Duration // deadline from now; 0: none
	Retention time.Duration // of the finished run
	FailFast  bool
	OnDone    string // queue to tell; "": none
	Trace     string // W3C traceparent of the submission; "": none
	Input     []byte
}

// FirstVisit is when the sweeper first looks at a new run.
const FirstVisit = 10 * time.Second

// Post is how the task of a root is put into its queue: what Poster's script takes.
type Post struct {
	Keys []string
	Args []any
}

// Create makes the whole run at once and makes its roots runnable. With posts, one for each step without parents in
// ascending order, the same script puts the roots' tasks into the queue; without, as when the store has no Poster, they go
// into the outbox and are Ready for the caller to ring. Words: Created, Exists, Conflict, Unkept.
func (s *Store) Create(ctx context.Context, n NewRun, posts []Post) (Change, error) {
	script := createScript
	if len(posts) > 0 {
		script = s.postingCreate
	}
	got, err := s.call(ctx, script, n.command(s.queue(n.Queue), posts))
	if err != nil {
		return Change{}, err
	}
	return decodeChange(got, Onward{})
}

func (n NewRun) command(q *queueKeys, posts []Post) command {
	var nkeys, nargs int
	if len(posts) > 0 {
		nkeys, nargs = len(posts[0].Keys), len(posts[0].Args)
	}
	c := newCommand(5+len(posts)*nkeys, 12+len(n.Shape.Roots)*(1+nargs)+len(n.Shape.fields))
	c.add(q.run+n.Run, q.val+n.Run, q.outbox, q.due, q.kept+n.Shape.BundleSHA)
	for _, p := range posts {
		for _, key := range p.Keys {
			c.add(key)
		}
	}
	retention := strconv.FormatInt(n.Retention.Milliseconds(), 10)
	window := strconv.FormatInt(n.Window.Milliseconds(), 10)
	c.add(n.Run, n.Shape.head+n.InputHash, n.Shape.steps, window, window+"|"+retention+"|"+flag(n.FailFast)+"|"+n.OnDone, n.Input,
		FirstVisit.Milliseconds(), len(n.Shape.Roots), nkeys, nargs)
	for _, root := range n.Shape.Roots {
		c.add(root)
	}
	for _, p := range posts {
		c.add(p.Args...)
	}
	if n.Trace != "" {
		c.add("t", n.Trace)
	}
	c.add(n.Shape.fields...)
	return c
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Task names the work that a doorbell asks for, under the token of one delivery.
type Task struct {
	Ref
	Generation int
	Unit       Unit
	Token      string
	met        Met
}

// Terms are the terms of a claim.
type Terms struct {
	Lease         time.Duration
	MaxDeliveries int
	Trusted       int // deliveries up to which a unit is no Suspect; 0: MaxDeliveries
	WantTrace     bool
	WantInput     bool
	WantValues    []int // of these parents
}

func (t Terms) trusted() int {
	if t.Trusted == 0 {
		return t.MaxDeliveries
	}
	return t.Trusted
}

// wants is what the scripts are to hand out: t for the trace, i for the input, and indices of parents, comma separated.
func (t Terms) wants() string {
	wanted := make([]string, 0, 1+len(t.WantValues))
	if t.WantTrace {
		wanted = append(wanted, "t")
	}
	if t.WantInput {
		wanted = append(wanted, "i")
	}
	for _, p := range t.WantValues {
		wanted = append(wanted, strconv.Itoa(p))
	}
	return strings.Join(wanted, ",")
}

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

// Grant is what a worker is handed with a claim.
type Grant struct {
	Marker     Marker // joined over the inputs
	Deliveries int
	Waited     time.Duration // runnable until claimed
	Progress   Progress
	Left       time.Duration // until the run's deadline; 0: none
	Parents    map[int]executor.Outcome
	Input      []byte
	Values     map[int][]byte
	Item       []byte // of an item unit
	Trace      string // W3C traceparent of the submission; "": none
}

// Begin claims a unit. The Grant is set with the word Claimed; with Overdue and Crashed the Change is. With Suspect nothing
// has changed, and the Grant says the delivery that it would be. Other words: Gone, Stale, Done, Busy.
func (s *Store) Begin(ctx context.Context, t Task, terms Terms) (Change, Grant, error) {
	got, err := s.begin(ctx, t, terms)
	if err != nil {
		return Change{}, Grant{}, err
	}
	switch Word(str(got[0])) {
	case Claimed:
	case overdue:
		c, _, _, err := s.Visit(ctx, t.Ref, FirstVisit, FirstVisit)
		return c, Grant{}, err
	case worn:
		c, err := s.change(ctx, crashScript, t.Ref, t.Generation, t.Unit.String(), terms.MaxDeliveries)
		return c, Grant{}, err
	case Suspect:
		if len(got) < 2 {
			return Change{}, Grant{}, errRecord
		}
		deliveries, err := index(str(got[1]))
		return Change{Word: Suspect}, Grant{Deliveries: deliveries}, err
	default:
		c, err := decodeChange(got, Onward{})
		return c, Grant{}, err
	}
	g, err := decodeGrant(got, terms)
	return Change{Word: Claimed}, g, err
}

// begin asks the quick script where it may apply, unless it has been asked.
func (s *Store) begin(ctx context.Context, t Task, terms Terms) ([]any, error) {
	if t.Unit.Item == Whole && len(terms.WantValues) == 0 && terms.WantInput {
		if t.met.Claimed() {
			return t.met.said, nil
		}
		q := s.queue(t.Queue)
		c := newCommand(3, 5)
		c.add(q.run+t.Run, q.val+t.Run, q.claims, t.Run, t.Generation, t.Unit.Step, t.Token, terms.Lease.Milliseconds())
		got, err := s.call(ctx, quickBeginScript, c)
		if err != nil || len(got) > 0 && Word(str(got[0])) != slow {
			return got, err
		}
	}
	return s.run(ctx, beginScript, t.Ref, t.Generation, t.Unit.String(), t.Token, terms.Lease.Milliseconds(), terms.MaxDeliveries,
		terms.wants(), terms.trusted())
}

func decodeGrant(got []any, terms Terms) (Grant, error) {
	if len(got) < 8 {
		return Grant{}, errRecord
	}
	g := Grant{Parents: map[int]executor.Outcome{}, Values: map[int][]byte{}}
	var err error
	if g.Marker, err = ParseMarker(str(got[1])); err != nil {
		return g, err
	}
	g.Deliveries, _ = index(str(got[2]))
	g.Waited = duration(str(got[3]))
	if g.Progress, err = decodeProgress(str(got[4])); err != nil {
		return g, err
	}
	g.Left = duration(str(got[5]))
	outcomes := list(got[6])
	for i := 0; i+1 < len(outcomes); i += 2 {
		p, err := index(str(outcomes[i]))
		if err != nil {
			return g, err
		}
		o, err := index(str(outcomes[i+1]))
		if err != nil {
			return g, err
		}
		g.Parents[p] = executor.Outcome(o)
	}
	wanted := list(got[7])
	if terms.WantInput && len(wanted) > 0 {
		g.Input = []byte(str(wanted[0]))
		wanted = wanted[1:]
	}
	for i, p := range terms.WantValues {
		if i < len(wanted) && wanted[i] != nil {
			g.Values[p] = []byte(str(wanted[i]))
		}
	}
	if len(got) > 8 && got[8] != nil {
		g.Item = []byte(str(got[8]))
	}
	if len(got) > 9 {
		g.Trace = str(got[9])
	}
	if len(got) > 10 {
		g.Progress.Down = duration(str(got[10]))
	}
	return g, nil
}

func duration(ms string) time.Duration {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

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
// A unit that is done already is left as it is. Words: Settled, Done, Stale, Gone.
func (s *Store) Complete(ctx context.Context, t Task, e Ending) (Change, error) {
	if t.Unit.Item == Whole && e.Outcome != executor.OutcomeFailed && len(e.Value) > 0 {
		got, err := s.completeQuickly(ctx, t, e)
		if err != nil {
			return Change{}, err
		}
		if len(got) > 0 && Word(str(got[0])) != slow {
			return decodeChange(got, Onward{})
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

func (s *Store) completeQuickly(ctx context.Context, t Task, e Ending) ([]any, error) {
	var known strings.Builder
	for step, terms := range e.Onward.Steps {
		if terms.wants() == "" {
			known.WriteString("," + strconv.Itoa(step))
		}
	}
	known.WriteByte(',')
	q := s.queue(t.Queue)
	c := newCommand(5, 10)
	c.add(q.run+t.Run, q.val+t.Run, q.outbox, q.due, q.claims,
		t.Run, t.Generation, t.Unit.Step, strconv.Itoa(int(e.Outcome))+"|"+strconv.Itoa(int(e.Cause)), e.End.encode(), e.Carried.String(),
		e.Value, e.Onward.Token, e.Onward.Lease.Milliseconds(), known.String())
	return s.call(ctx, quickCompleteScript, c)
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

// Park gives the claim back until pause has passed; it is no attempt and no delivery. Words: Parked, Lost, Done, Gone.
func (s *Store) Park(ctx context.Context, t Task, pause time.Duration, p Progress) (Word, error) {
	return s.word(s.run(ctx, parkScript, t.Ref, t.Generation, t.Unit.String(), t.Token, pause.Milliseconds(), p.encode(), p.Down.Milliseconds()))
}

func (s *Store) word(got []any, err error) (Word, error) {
	if err != nil {
		return "", err
	}
	return Word(str(got[0])), nil
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
