package runstate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// size is a kind of things: that many are done together.
type size int

func (s size) most() int { return int(s) }

// workshop takes a second for whatever it is given, and writes down what it was.
type workshop struct {
	gather[size]
	mu   sync.Mutex
	done [][]int
}

func newWorkshop() *workshop {
	w := &workshop{}
	w.company = true
	w.do = func(_ size, shares []*share) {
		time.Sleep(time.Second)
		var things []int
		for _, sh := range shares {
			thing, _ := sh.args[0].(int)
			things = append(things, thing)
		}
		w.mu.Lock()
		w.done = append(w.done, things)
		w.mu.Unlock()
		for i, sh := range shares {
			sh.said = things[i]
			close(sh.done)
		}
	}
	return w
}

func thing(i int) *share { return newShare(0, i) }

func TestWhatIsWantedMeanwhileIsDoneTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop()
		for i := range 10 {
			w.want(3, thing(i))
			synctest.Wait() // else the first would wait for company
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		var sizes []int
		seen := map[int]int{}
		for _, things := range w.done {
			sizes = append(sizes, len(things))
			for _, thing := range things {
				seen[thing]++
			}
		}
		if diff := cmp.Diff([]int{1, 1, 3, 3, 2}, sizes); diff != "" {
			t.Errorf("done together (-want +got):\n%s", diff)
		}
		for i := range 10 {
			if seen[i] != 1 {
				t.Errorf("%d was done %d times", i, seen[i])
			}
		}
		if len(w.kinds) != 0 {
			t.Errorf("%d kinds are kept of which nothing is wanted", len(w.kinds))
		}
	})
}

func TestKindsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop()
		for i := range 20 {
			w.want(1, thing(i))
		}
		begun := time.Now()
		w.want(2, thing(100))
		time.Sleep(time.Second)
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		found := false
		for _, things := range w.done {
			found = found || things[0] == 100
		}
		if !found {
			t.Errorf("after %v it was not done", time.Since(begun))
		}
		w.mu.Unlock()
		time.Sleep(time.Minute) // the others end too
		w.mu.Lock()
	})
}

// Whoever is about to want the same at the same moment shares the first script.
func TestABurstIsDoneTogetherFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop()
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				if said, err := w.ask(t.Context(), 16, thing(i)); said != i || err != nil {
					t.Errorf("of %d was said %v, %v", i, said, err)
				}
			})
		}
		callers.Wait()
		total := 0
		for _, things := range w.done {
			if total += len(things); len(things) > 16 {
				t.Errorf("%d were done together", len(things))
			}
		}
		if total != 100 || len(w.done) > 10 { // 7, if nobody were late
			t.Errorf("%d of 100 were done, by %d calls", total, len(w.done))
		}
	})
}

func TestWhoLeavesEarlyLeavesTheOthersBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var stays sync.WaitGroup
		stays.Go(func() {
			if said, err := w.ask(t.Context(), 16, thing(1)); said != 1 || err != nil {
				t.Errorf("was said %v, %v", said, err)
			}
		})
		if _, err := w.ask(ctx, 16, thing(2)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := w.ask(ctx, 16, thing(3)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("after the end:", err)
		}
		stays.Wait()
		synctest.Wait()
		for _, things := range w.done {
			if slices.Contains(things, 3) {
				t.Error("what nobody waits for any more was begun")
			}
		}
	})
}
