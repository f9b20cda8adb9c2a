package runstate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Beat extends the claims of tasks, which all belong to one queue, and says for each whether it is still held.
// One round trip carries up to a few hundred; the caller splits more.
func (s *Store) Beat(ctx context.Context, queue string, lease time.Duration, tasks []Task) ([]bool, error) {
	args := make([]any, 0, 2+4*len(tasks))
	args = append(args, runPrefix(queue), lease.Milliseconds())
	for _, t := range tasks {
		args = append(args, t.Run, t.Generation, t.Unit.String(), t.Token)
	}
	got, err := beatScript.Run(ctx, s.rdb, []string{claimsKey(queue)}, args...).Text()
	if err != nil {
		return nil, err
	}
	if len(got) != len(tasks) {
		return nil, errRecord
	}
	held := make([]bool, len(tasks))
	for i := range held {
		held[i] = got[i] == '1'
	}
	return held, nil
}

// Lead takes or keeps the queue's sweeper lock, which only saves work: two sweepers at once do no harm. It also says what
// time it is, as Now does, in the same round trip.
func (s *Store) Lead(ctx context.Context, queue, token string, hold time.Duration) (lead bool, now time.Time, err error) {
	got, err := leadScript.Run(ctx, s.rdb, []string{sweeperKey(queue)}, token, hold.Milliseconds()).Slice()
	if err != nil {
		return false, time.Time{}, err
	}
	if len(got) != 3 {
		return false, time.Time{}, errRecord
	}
	now, err = clock(got[1:])
	return got[0] == int64(1), now, err
}

// Now is the clock by which the queue's scores are set: that of the Redis server which has its keys. The nodes of a cluster
// have one each.
func (s *Store) Now(ctx context.Context, queue string) (time.Time, error) {
	got, err := s.rdb.Eval(ctx, "return redis.call('TIME')", []string{sweeperKey(queue)}).Slice()
	if err != nil {
		return time.Time{}, err
	}
	return clock(got)
}

// clock reads what TIME answers: seconds, and microseconds within the second.
func clock(got []any) (time.Time, error) {
	if len(got) != 2 {
		return time.Time{}, errRecord
	}
	seconds, err1 := strconv.ParseInt(str(got[0]), 10, 64)
	micros, err2 := strconv.ParseInt(str(got[1]), 10, 64)
	if err1 != nil || err2 != nil {
		return time.Time{}, errRecord
	}
	return time.Unix(seconds, micros*1000), nil
}

// Found is what a queue's sweeper must do something about.
type Found struct {
	Dead   []Entry  // units whose claim has ended: their worker died or stalled
	Due    []string // open runs that must be looked at
	Unrung []Entry  // outbox entries: parked and redriven ones that are due, and those whose maker did not ring within two seconds
}

// Look finds what has to be done now, at most most of each, in one round trip, and holds the sweeper's lock for longer.
func (s *Store) Look(ctx context.Context, queue string, now time.Time, hold time.Duration, most int) (Found, error) {
	until := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now.UnixMilli(), 10), Count: int64(most)}
	pipe := s.rdb.Pipeline()
	pipe.PExpire(ctx, sweeperKey(queue), hold)
	claims := pipe.ZRangeByScore(ctx, claimsKey(queue), until)
	due := pipe.ZRangeByScore(ctx, dueKey(queue), until)
	outbox := pipe.ZRangeByScore(ctx, outboxKey(queue), until)
	if _, err := pipe.Exec(ctx); err != nil {
		return Found{}, err
	}
	return Found{
		Dead: s.entries(ctx, queue, claimsKey(queue), claims.Val(), parseClaim),
		Due:  due.Val(), Unrung: s.entries(ctx, queue, outboxKey(queue), outbox.Val(), ParseEntry),
	}, nil
}

func (s *Store) entries(ctx context.Context, queue, key string, members []string, parse func(string, string) (Entry, error)) []Entry {
	out := make([]Entry, 0, len(members))
	for _, m := range members {
		e, err := parse(queue, m)
		if err != nil { // nobody can ever act on it
			s.rdb.ZRem(ctx, key, m)
			continue
		}
		out = append(out, e)
	}
	return out
}

// Rung removes outbox entries whose doorbells have been rung.
func (s *Store) Rung(ctx context.Context, queue string, entries ...Entry) error {
	members := make([]any, len(entries))
	for i, e := range entries {
		members[i] = e.Member()
	}
	return rungScript.Run(ctx, s.rdb, []string{outboxKey(queue)}, members...).Err()
}

// Idle is a runnable unit that is neither claimed nor in the outbox: it should be in the queue.
type Idle struct {
	Entry
	Since time.Duration // runnable for so long
}

// Visit looks at one open run: it ends an overdue one (Overdue), sets the next visit, and lists idle units (Open).
// Other words: Gone, Done.
func (s *Store) Visit(ctx context.Context, r Ref, shortest, longest time.Duration) (c Change, idle []Idle, sha string, err error) {
	got, err := s.run(ctx, visitScript, r, shortest.Milliseconds(), longest.Milliseconds())
	if err != nil {
		return Change{}, nil, "", err
	}
	switch c.Word = Word(str(got[0])); c.Word {
	case Open:
	case overdue:
		c, err = s.change(ctx, overdueScript, r)
		return c, nil, "", err
	default:
		return c, nil, "", nil
	}
	if len(got) < 4 {
		return c, nil, "", errRecord
	}
	if c.Generation, err = index(str(got[1])); err != nil {
		return c, nil, "", err
	}
	sha, err = splitHead(str(got[2]))
	if err != nil {
		return c, nil, "", err
	}
	units := list(got[3])
	for i := 0; i+2 < len(units); i += 3 {
		unit, err := ParseUnit(str(units[i]))
		if err != nil {
			return c, nil, "", err
		}
		redrive, err := index(str(units[i+1]))
		if err != nil {
			return c, nil, "", err
		}
		idle = append(idle, Idle{Entry{r, c.Generation, unit, redrive}, duration(str(units[i+2]))})
	}
	return c, idle, sha, nil
}

// Redrive puts units that nobody holds back into the outbox under a new number, and says how many. anyNumber ignores the
// entries' own redrive numbers (of a dead claim it is not known).
func (s *Store) Redrive(ctx context.Context, r Ref, generation int, entries []Entry, anyNumber bool) (int, error) {
	return s.redrive(ctx, r, generation, 0, entries, anyNumber)
}

// Defer has a unit that nobody holds rung for again when pause has passed. It does nothing if the unit has been put back into
// the outbox since under another number.
func (s *Store) Defer(ctx context.Context, e Entry, pause time.Duration) error {
	_, err := s.redrive(ctx, e.Ref, e.Generation, pause, []Entry{e}, false)
	return err
}

func (s *Store) redrive(ctx context.Context, r Ref, generation int, pause time.Duration, entries []Entry, anyNumber bool) (int, error) {
	args := make([]any, 0, 2+2*len(entries))
	args = append(args, generation, pause.Milliseconds())
	for _, e := range entries {
		number := strconv.Itoa(e.Redrive)
		if anyNumber {
			number = ""
		}
		args = append(args, e.Unit.String(), number)
	}
	got, err := s.run(ctx, redriveScript, r, args...)
	if err != nil || len(got) < 2 {
		return 0, err
	}
	n, _ := got[1].(int64)
	return int(n), nil
}

// Order is what a doorbell must say of an outbox entry.
type Order struct {
	Entry
	Valid     bool // false: nothing is left to ring for
	Lost      bool // with a worker, in whose hands it was
	BundleSHA string
	Marker    Marker
	OnDone    string // for DoneUnit: the queue to tell
	Trace     string // W3C traceparent of the submission; "": none
}

// Orders reads what is to be said for each entry, in one round trip.
func (s *Store) Orders(ctx context.Context, entries []Entry) ([]Order, error) {
	pipe := s.rdb.Pipeline()
	got := make([]*redis.SliceCmd, len(entries))
	for i, e := range entries {
		got[i] = pipe.HMGet(ctx, runKey(e.Ref), "h", "r", "k", "s"+e.Unit.String(), "t")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	out := make([]Order, len(entries))
	for i, e := range entries {
		out[i] = order(e, got[i].Val())
	}
	return out, nil
}

func order(e Entry, f []any) Order {
	o := Order{Entry: e}
	if len(f) < 5 || f[0] == nil {
		return o
	}
	sha, err := splitHead(str(f[0]))
	moving := strings.SplitN(str(f[1]), "|", 10)
	fixed := strings.SplitN(str(f[2]), "|", 7)
	if err != nil || len(moving) != 10 || len(fixed) != 7 || moving[1] != strconv.Itoa(e.Generation) {
		return o
	}
	o.BundleSHA, o.Trace = sha, str(f[4])
	if e.Unit == DoneUnit {
		o.OnDone, o.Valid = fixed[6], moving[0] == "d" && fixed[6] != ""
		o.Marker, err = ParseMarker(moving[9])
		o.Valid = o.Valid && err == nil
		return o
	}
	rec, err := decodeStep(str(f[3]))
	o.Valid = err == nil && rec.State == StepQueued && moving[0] == "o"
	o.Marker, o.Lost = rec.Marker, rec.Deliveries > 0
	return o
}

// TrimFailed bounds the dead-letter index by count and age.
func (s *Store) TrimFailed(ctx context.Context, queue string, keep int, before time.Time) error {
	pipe := s.rdb.Pipeline()
	pipe.ZRemRangeByScore(ctx, failedKey(queue), "-inf", "("+strconv.FormatInt(before.UnixMilli(), 10))
	pipe.ZRemRangeByRank(ctx, failedKey(queue), 0, int64(-keep-1))
	_, err := pipe.Exec(ctx)
	return err
}
