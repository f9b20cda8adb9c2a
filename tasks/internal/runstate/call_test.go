package runstate

import (
	"strconv"
	"sync"
	"testing"
)

func TestAQueuesKeysArePutTogetherOnce(t *testing.T) {
	t.Parallel()
	s := NewStore(nil)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range 50 {
				queue := "q" + strconv.Itoa(i)
				if q := s.queue(queue); q.claims != claimsKey(queue) || q.run+"r" != runKey(Ref{queue, "r"}) || q.val+"r" != valKey(Ref{queue, "r"}) {
					t.Errorf("%s has the keys %+v", queue, q)
				}
			}
		})
	}
	callers.Wait()
	if first := s.queue("q0"); s.queue("q0") != first {
		t.Error("the keys of one queue are put together twice")
	}
	for i := range 3 * queuesKept {
		s.queue("of a producer of queues " + strconv.Itoa(i))
		if n := len(*s.queues.Load()); n > queuesKept {
			t.Fatalf("the keys of %d queues are kept", n)
		}
	}
}
