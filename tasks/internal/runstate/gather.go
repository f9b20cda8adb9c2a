package runstate

import (
	"runtime"
	"sync"
)

// gather has done together what many goroutines want at about the same time, so that they share one script. While little is
// under way, what is wanted is done at once; what is wanted meanwhile is done with the next. Only what is of one kind can be
// done together.
type gather[K gathered, T any] struct {
	do func(K, []T) // at least one of T

	mu    sync.Mutex
	kinds map[K]*wanted[T] // of which something is under way
}

// gathered is a kind of things.
type gathered interface {
	comparable
	most() int // how many are done together, at least one
}

// wanted is what is wanted of one kind.
type wanted[T any] struct {
	waiting  []T // longest first
	underWay int
}

// atATime is how many scripts of a kind are under way: while Redis works on one, the next is put together.
const atATime = 2

// want has the thing done, and does not wait for it.
func (g *gather[K, T]) want(kind K, thing T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kinds == nil {
		g.kinds = map[K]*wanted[T]{}
	}
	w := g.kinds[kind]
	if w == nil {
		w = &wanted[T]{}
		g.kinds[kind] = w
	}
	w.waiting = append(w.waiting, thing)
	if w.underWay < atATime {
		w.underWay++
		go g.work(kind, w)
	}
}

// work goes on until nothing of the kind is wanted.
func (g *gather[K, T]) work(kind K, w *wanted[T]) {
	for {
		runtime.Gosched() // whoever is about to want the same joins this
		things := g.next(kind, w)
		if len(things) == 0 {
			return
		}
		g.do(kind, things)
	}
}

func (g *gather[K, T]) next(kind K, w *wanted[T]) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(w.waiting), kind.most())
	things := w.waiting[:n:n]
	if w.waiting = w.waiting[n:]; len(w.waiting) == 0 {
		w.waiting = nil // so that the array does not keep what is done
	}
	if n == 0 {
		if w.underWay--; w.underWay == 0 {
			delete(g.kinds, kind)
		}
	}
	return things
}
