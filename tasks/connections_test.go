package tasks_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
	"fourfold/tasks"
)

// A thousand workers must fit into the ten thousand clients that a Redis admits by default, whatever they have been through:
// go-redis keeps what a burst has opened.
func TestAnIdleWorkerHoldsFewConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	options := *server.Client(t).Options()
	options.ClientName = "fleet"
	rdb := redis.NewClient(&options)
	t.Cleanup(func() { _ = rdb.Close() })
	f := newFleetOf(t, rdb, server.Client(t))
	f.worker(newModel(fine), func(c *tasks.WorkerConfig) { c.Concurrency = 64 })
	b := bundle(t, threeSteps(""))
	var runs []tasks.RunID
	for range 200 {
		runs = append(runs, f.submit(b, `1`))
	}
	for _, run := range runs {
		f.wait(run)
	}
	const most = 10
	held := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); { // what is under way in this moment uses some more
		list, err := server.Admin(t).ClientList(context.Background()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if held = strings.Count(list, " name=fleet "); held <= most && held > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("an idle worker holds %d connections, want at most %d", held, most)
}
