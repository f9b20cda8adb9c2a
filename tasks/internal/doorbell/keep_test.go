package doorbell

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// D14: a flushed Redis has forgotten which queues there are; the workers tell it again.
func TestWorkerAnnouncesItsQueues(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, _ := collect(handle)
		s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"a": 1, "b": 2}, Handler: handler})
		announced := func() bool { names, err := QueueNames(t.Context(), rdb); return err == nil && len(names) == 2 }
		eventually(t, announced)
		must(t, rdb.Del(t.Context(), allQueues).Err())
		s.keeper.announce(t.Context())
		if !announced() {
			t.Error("the queues were not announced again")
		}
	})
}

// D11: with some 8,000 old entries asynq's own trimming fails, and every later archiving with it.
func TestArchiveIsKeptSmall(t *testing.T) {
	for _, c := range []struct {
		name                    string
		old, young, left, perGo int
	}{
		{"old entries go", 1200, 100, 100, cleanedAtOnce},
		{"young ones stay", 0, mostArchived, mostArchived, 0},
		{"too many go, oldest first", 0, mostArchived + 700, mostArchived, cleanedAtOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			rdb := backends[1].open(t)
			archive(t, rdb, "old", c.old, time.Now().Add(-keepArchived-time.Hour))
			archive(t, rdb, "young", c.young, time.Now().Add(-time.Hour))
			log := &memoryLog{}
			k := newKeeper(rdb, []string{"q"}, log)
			before := int(sizes(t, rdb, "q").Archived)
			k.clean(t.Context())
			if got := before - int(sizes(t, rdb, "q").Archived); got != c.perGo {
				t.Errorf("the first pass removed %d, want %d", got, c.perGo)
			}
			for range 5 {
				k.clean(t.Context())
			}
			if got := int(sizes(t, rdb, "q").Archived); got != c.left {
				t.Errorf("left: got %d, want %d", got, c.left)
			}
			ids, err := rdb.ZRange(t.Context(), queueKey("q", "archived"), 0, -1).Result()
			must(t, err)
			keys, err := rdb.Keys(t.Context(), taskKey("q", "*")).Result()
			must(t, err)
			if len(keys) != len(ids) {
				t.Errorf("%d tasks for %d entries", len(keys), len(ids))
			}
			if first := fmt.Sprint("young-", c.young-c.left); ids[0] != taskID("young", c.young-c.left) {
				t.Errorf("the oldest left is %s, want %s", ids[0], first)
			}
			if c.perGo > 0 && log.all()[0] != fmt.Sprintf("info: removed old entries from the archive queue=q entries=%d", c.perGo) {
				t.Error(cmp.Diff("", log.all()[0]))
			}
		})
	}
}

func taskID(kind string, i int) string { return fmt.Sprintf("%s-%06d", kind, i) }

// archive puts n tasks into the archive as asynq does, a millisecond of order apart.
func archive(t *testing.T, rdb redis.UniversalClient, kind string, n int, at time.Time) {
	t.Helper()
	_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.HSet(t.Context(), taskKey("q", taskID(kind, i)), "state", "archived", "msg", "m")
			p.ZAdd(t.Context(), queueKey("q", "archived"), redis.Z{Score: float64(at.Unix()), Member: taskID(kind, i)})
		}
		p.SAdd(t.Context(), allQueues, "q")
		return nil
	})
	must(t, err)
}
