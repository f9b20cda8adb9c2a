package runstate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"fourfold/executor"
)

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
		c, err := s.change(ctx, overdueScript, t.Ref)
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
		if t.met.granted() {
			return t.met.said, nil
		}
		q := s.queue(t.Queue)
		c := newCommand(3, 5)
		c.add(q.run+t.Run, q.val+t.Run, q.claims, t.Run, t.Generation, t.Unit.Step, t.Token, terms.Lease.Milliseconds())
		got, err := s.call(ctx, quickBeginScript, c)
		if err != nil {
			return nil, err
		}
		if word := Word(str(got[0])); word != slow && word != taken {
			return got, nil
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
