package runstate

import (
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
	gather[size, int]
	mu   sync.Mutex
	done [][]int
}

func newWorkshop() *workshop {
	w := &workshop{}
	w.do = func(_ size, things []int) {
		time.Sleep(time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done = append(w.done, things)
	}
	return w
}

func TestWhatIsWantedMeanwhileIsDoneTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop()
		for i := range 10 {
			w.want(3, i)
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
			w.want(1, i)
		}
		begun := time.Now()
		w.want(2, 100)
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
			callers.Go(func() { w.want(16, i) })
		}
		callers.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		total := 0
		for _, things := range w.done {
			if total += len(things); len(things) > 16 {
				t.Errorf("%d were done together", len(things))
			}
		}
		if total != 100 {
			t.Errorf("%d of 100 were done", total)
		}
	})
}
