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
type Post struct{ Keys, Args []any }

// Create makes the whole run at once and makes its roots runnable. With posts, one for each step without parents in
// ascending order, the same script puts the roots' tasks into the queue, and the Change is but its word; without, as when the
// store has no Poster, they go into the outbox and are Ready for the caller to ring. Words: Created, Exists, Conflict, Unkept.
//
// Runs of one kind that many goroutines make are made by one script; each has its own answer. Whoever leaves early, since ctx
// has ended, must leave Input as it is.
func (s *Store) Create(ctx context.Context, n NewRun, posts []Post) (Change, error) {
	said, err := s.births.ask(ctx, n.kind(posts), s.birth(n, posts))
	if err != nil {
		return Change{}, err
	}
	word, _ := said.(string)
	c := Change{Word: Word(word)}
	if c.Word == Created && len(posts) == 0 {
		c.Generation, c.Open = 1, n.Shape.steps
		for _, root := range n.Shape.Roots {
			c.Ready = append(c.Ready, Ready{Unit: Step(root)})
		}
	}
	return c, nil
}

// birth is the run's share of the script that makes it.
func (s *Store) birth(n NewRun, posts []Post) *share {
	k := n.kind(posts)
	words := make([]any, 0, 2+4+len(posts)*(k.keys+k.args))
	q := s.queue(n.Queue)
	words = append(words, q.run+n.Run)
	if k.apart {
		words = append(words, q.val+n.Run)
	}
	for _, p := range posts {
		words = append(words, p.Keys...)
	}
	keys := len(words)
	words = append(words, n.Run, n.Shape.head+n.InputHash)
	if k.traced {
		words = append(words, n.Trace)
	}
	words = append(words, n.Input)
	for _, p := range posts {
		words = append(words, p.Args...)
	}
	return newShare(keys, words...)
}

// own names the fields that each run says for itself, in the order of birth's words.
func (k birthKind) own() string {
	names := "h"
	if k.traced {
		names += "t"
	}
	if !k.apart {
		names += "i"
	}
	return names
}

// birthKind is what runs that one script makes have in common.
type birthKind struct {
	queue             string
	shape             *Shape
	window, retention time.Duration
	failFast, traced  bool
	onDone            string
	keys, args        int  // of one post; zero keys: the roots go into the outbox
	apart             bool // the input is kept with the values, not with the run's records
	large             bool // it has a script to itself
}

func (n NewRun) kind(posts []Post) birthKind {
	k := birthKind{
		queue: n.Queue, shape: n.Shape, window: n.Window, retention: n.Retention, failFast: n.FailFast, traced: n.Trace != "", onDone: n.OnDone,
		apart: len(n.Input) > smallValue, large: len(n.Input) > largeValue,
	}
	if len(posts) > 0 {
		k.keys, k.args = len(posts[0].Keys), len(posts[0].Args)
	}
	return k
}

// Bounds of one script: Redis serves nobody else meanwhile.
const (
	mostAtOnce = 16
	mostWords  = 2048 // fields of runs, and what posts take
	largeValue = 64 << 10
)

// smallValue is the longest that Redis, as it comes, has in a hash that it keeps compact.
const smallValue = 64

// most is how many runs of the kind one script makes.
func (k birthKind) most() int {
	if k.large {
		return 1
	}
	each := len(k.shape.fields) + len(k.shape.Roots)*(k.keys+k.args)
	return max(1, min(mostAtOnce, mostWords/max(1, each)))
}

// create makes runs of one kind.
func (s *Store) create(k birthKind, births []*share) {
	script := createScript
	if k.keys > 0 {
		script = s.postingCreate
	}
	q, roots := s.queue(k.queue), k.shape.Roots
	window := strconv.FormatInt(k.window.Milliseconds(), 10)
	args := make([]any, 0, 10+len(roots)+len(k.shape.fields))
	args = append(args, k.shape.steps, window, window+"|"+strconv.FormatInt(k.retention.Milliseconds(), 10)+"|"+flag(k.failFast)+"|"+k.onDone,
		FirstVisit.Milliseconds(), k.own(), flag(k.apart), k.keys, k.args, len(roots), len(k.shape.fields))
	for _, root := range roots {
		args = append(args, root)
	}
	s.serve(script, []any{q.outbox, q.due, q.kept + k.shape.BundleSHA}, append(args, k.shape.fields...), births)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
