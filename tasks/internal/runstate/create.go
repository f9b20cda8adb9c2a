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
//
// Runs of one kind that many goroutines make are made by one script; each has its own answer. Whoever leaves early, since ctx
// has ended, must leave Input as it is.
func (s *Store) Create(ctx context.Context, n NewRun, posts []Post) (Change, error) {
	if err := ctx.Err(); err != nil {
		return Change{}, err
	}
	b := s.newBirth(n, posts)
	s.births.want(n.kind(posts), b)
	select {
	case <-b.done:
		return n.created(b.word, len(posts) > 0), b.err
	case <-ctx.Done():
		return Change{}, ctx.Err()
	}
}

// created is the Change of a word of create's.
func (n NewRun) created(word Word, posted bool) Change {
	c := Change{Word: word}
	if word != Created || posted {
		return c
	}
	c.Generation, c.Open = 1, n.Shape.steps
	for _, root := range n.Shape.Roots {
		c.Ready = append(c.Ready, Ready{Unit: Step(root)})
	}
	return c
}

// birth is a run that is being made.
type birth struct {
	run, val        string // keys
	id, head, trace string
	input           []byte
	posts           []Post

	word Word
	err  error
	done chan struct{} // closed when the word or the error is known
}

func (s *Store) newBirth(n NewRun, posts []Post) *birth {
	q := s.queue(n.Queue)
	return &birth{
		run: q.run + n.Run, val: q.val + n.Run, id: n.Run, head: n.Shape.head + n.InputHash, trace: n.Trace, input: n.Input,
		posts: posts, done: make(chan struct{}),
	}
}

// kind is what runs that one script makes have in common.
type kind struct {
	queue             string
	shape             *Shape
	window, retention time.Duration
	failFast          bool
	onDone            string
	keys, args        int  // of one post; zero keys: the roots go into the outbox
	large             bool // it has a script to itself
}

func (n NewRun) kind(posts []Post) kind {
	k := kind{
		queue: n.Queue, shape: n.Shape, window: n.Window, retention: n.Retention, failFast: n.FailFast, onDone: n.OnDone,
		large: len(n.Input) > largeInput,
	}
	if len(posts) > 0 {
		k.keys, k.args = len(posts[0].Keys), len(posts[0].Args)
	}
	return k
}

// Bounds of one script: Redis serves nobody else meanwhile.
const (
	mostBorn      = 16
	mostTextsBorn = 2048 // fields of runs, and what posts take
	largeInput    = 64 << 10
)

// most is how many runs of the kind one script makes.
func (k kind) most() int {
	if k.large {
		return 1
	}
	each := len(k.shape.fields) + len(k.shape.Roots)*(k.keys+k.args)
	return max(1, min(mostBorn, mostTextsBorn/max(1, each)))
}

// create makes runs of one kind, and tells each what became of it.
func (s *Store) create(k kind, births []*birth) {
	defer func() {
		for _, b := range births {
			close(b.done)
		}
	}()
	script := createScript
	if k.keys > 0 {
		script = s.postingCreate
	}
	answer, err := s.ask(context.Background(), script, k.command(s.queue(k.queue), births))
	words := list(answer)
	for i, b := range births {
		switch {
		case err != nil:
			b.err = err
		case answer == any(string(Unkept)):
			b.word = Unkept
		case i >= len(words):
			b.err = errRecord
		default:
			word, _ := words[i].(string)
			b.word = Word(word)
			b.err, _ = words[i].(error)
		}
	}
}

func (k kind) command(q *queueKeys, births []*birth) command {
	roots := len(k.shape.Roots)
	c := newCommand(3+len(births)*(2+roots*k.keys), 8+roots+len(k.shape.fields)+len(births)*(4+roots*k.args))
	c.add(q.outbox, q.due, q.kept+k.shape.BundleSHA)
	for _, b := range births {
		c.add(&b.run, &b.val)
		for _, p := range b.posts {
			for _, key := range p.Keys {
				c.add(key)
			}
		}
	}
	window := strconv.FormatInt(k.window.Milliseconds(), 10)
	c.add(k.shape.steps, window, window+"|"+strconv.FormatInt(k.retention.Milliseconds(), 10)+"|"+flag(k.failFast)+"|"+k.onDone,
		FirstVisit.Milliseconds(), roots, k.keys, k.args, len(k.shape.fields))
	for _, root := range k.shape.Roots {
		c.add(root)
	}
	c.add(k.shape.fields...)
	for _, b := range births {
		c.add(&b.id, &b.head, b.input, &b.trace)
		for _, p := range b.posts {
			c.add(p.Args...)
		}
	}
	return c
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
