package runstate

import (
	"context"
	"runtime"
	"sync"

	"github.com/redis/go-redis/v9"
)

// share is one caller's part of a call that serves several: a script's common part is then paid for once. The script answers
// with a list of what it says of each, which may be an error; or with one text for all of them.
type share struct {
	keys, args []any
	said       any
	err        error
	done       chan struct{} // closed when said or err is known
}

// newShare is a share of a call: the first of its words are keys.
func newShare(keys int, words ...any) *share {
	return &share{keys: words[:keys], args: words[keys:], done: make(chan struct{})}
}

// serve calls a script for shares of one kind: with the common keys, then those of each; and so with the arguments.
func (s *Store) serve(script *redis.Script, keys, args []any, shares []*share) {
	nkeys, nargs := len(keys), len(args)
	for _, sh := range shares {
		nkeys, nargs = nkeys+len(sh.keys), nargs+len(sh.args)
	}
	c := newCommand(nkeys, nargs)
	c.add(keys...)
	for _, sh := range shares {
		c.add(sh.keys...)
	}
	c.add(args...)
	for _, sh := range shares {
		c.add(sh.args...)
	}
	answer, err := s.ask(context.Background(), script, c) // it belongs to no caller; the client's own time limits end it
	each := list(answer)
	for i, sh := range shares {
		switch text, forAll := answer.(string); {
		case err != nil:
			sh.err = err
		case forAll:
			sh.said = text
		case i < len(each):
			sh.said = each[i]
			sh.err, _ = each[i].(error)
		default:
			sh.err = errRecord
		}
		close(sh.done)
	}
}

// gather lets what many goroutines want at about the same time share calls. While little is under way, what is wanted is done
// at once; what is wanted meanwhile is done with the next. Only what is of one kind can be done together.
type gather[K gathered] struct {
	do func(K, []*share)
	// company says that who is about to want the same is waited for: where little else is to do meanwhile.
	company bool

	mu    sync.Mutex
	kinds map[K]*wanted // of which something is under way
}

// gathered is a kind of shares.
type gathered interface {
	comparable
	most() int // how many are done together, at least one
}

// wanted is what is wanted of one kind.
type wanted struct {
	waiting  []*share // longest first
	underWay int
}

// atATime is how many calls of a kind are under way: while Redis works on one, the next is put together.
const atATime = 2

// ask has the share done, and returns what was said of it. Whoever leaves since ctx has ended must leave its words as they are.
func (g *gather[K]) ask(ctx context.Context, kind K, sh *share) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.want(kind, sh)
	select {
	case <-sh.done:
		return sh.said, sh.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gather[K]) want(kind K, sh *share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kinds == nil {
		g.kinds = map[K]*wanted{}
	}
	w := g.kinds[kind]
	if w == nil {
		w = &wanted{}
		g.kinds[kind] = w
	}
	w.waiting = append(w.waiting, sh)
	if w.underWay < atATime {
		w.underWay++
		go g.work(kind, w)
	}
}

// work goes on until nothing of the kind is wanted.
func (g *gather[K]) work(kind K, w *wanted) {
	for {
		if g.company {
			runtime.Gosched()
		}
		shares := g.next(kind, w)
		if len(shares) == 0 {
			return
		}
		g.do(kind, shares)
	}
}

func (g *gather[K]) next(kind K, w *wanted) []*share {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(w.waiting), kind.most())
	shares := w.waiting[:n:n]
	if w.waiting = w.waiting[n:]; len(w.waiting) == 0 {
		w.waiting = nil // so that the array does not keep what is done
	}
	if n == 0 {
		if w.underWay--; w.underWay == 0 {
			delete(g.kinds, kind)
		}
	}
	return shares
}
