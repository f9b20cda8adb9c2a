package runstate

import (
	"context"
	"strconv"
	"time"
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
// ascending order, the same script puts the roots' tasks into the queue, and the Change is but its word; without, as when the
// store has no Poster, they go into the outbox and are Ready for the caller to ring. Words: Created, Exists, Conflict, Unkept.
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
