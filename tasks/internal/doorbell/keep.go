package doorbell

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const (
	// cleanEvery, keepArchived and mostArchived bound asynq's archive: beyond some 8,000 entries its own trimming fails, and
	// then nothing can be archived any more (D11). What is in it was never a run's outcome, only rings that made no sense.
	cleanEvery   = 10 * time.Minute
	keepArchived = 14 * 24 * time.Hour
	mostArchived = 4000
	// cleanedAtOnce bounds one pass over one queue.
	cleanedAtOnce = 500
)

// keeper does small things for the queues that asynq leaves undone. It runs in every worker; two at a time do no harm.
type keeper struct {
	rdb       redis.UniversalClient
	inspector *asynq.Inspector
	queues    []string
	log       Logger
	stop      chan struct{}
	done      sync.WaitGroup
}

func newKeeper(rdb redis.UniversalClient, queues []string, log Logger) *keeper {
	return &keeper{rdb: rdb, inspector: asynq.NewInspectorFromRedisClient(rdb), queues: queues, log: log, stop: make(chan struct{})}
}

func (k *keeper) start() {
	k.done.Go(func() { k.every(announceEvery, k.announce) })
	k.done.Go(func() { k.every(cleanEvery, k.clean) })
}

func (k *keeper) close() {
	close(k.stop)
	k.done.Wait()
}

// every calls do now and then, until close.
func (k *keeper) every(d time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // a call under way ends with close
		select {
		case <-k.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for do(ctx); sleep(k.stop, d); {
		do(ctx)
	}
}

// announce tells asynq's tools again which queues there are: after a flush no client of asynq's would (D14). An error is
// left to the next time.
func (k *keeper) announce(ctx context.Context) {
	for _, queue := range k.queues {
		_ = k.rdb.SAdd(ctx, allQueues, queue).Err()
	}
}

// clean removes what is old or too much from the archives.
func (k *keeper) clean(ctx context.Context) {
	for _, queue := range k.queues {
		ids, err := k.stale(ctx, queue)
		if err != nil {
			continue // the next pass tries again
		}
		removed := 0
		for _, id := range ids {
			if k.inspector.DeleteTask(queue, id) == nil {
				removed++
			}
		}
		if removed > 0 {
			k.log.Info("removed old entries from the archive", "queue", queue, "entries", removed)
		}
	}
}

// stale finds the oldest archived entries that have to go.
func (k *keeper) stale(ctx context.Context, queue string) ([]string, error) {
	archive := queueKey(queue, "archived")
	before := strconv.FormatInt(time.Now().Add(-keepArchived).Unix(), 10)
	old, err := k.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{Key: archive, ByScore: true, Start: "-inf", Stop: before, Count: cleanedAtOnce}).Result()
	if err != nil {
		return nil, err
	}
	n, err := k.rdb.ZCard(ctx, archive).Result()
	if err != nil {
		return nil, err
	}
	if most := min(n-mostArchived, cleanedAtOnce); most > int64(len(old)) {
		return k.rdb.ZRange(ctx, archive, 0, most-1).Result() // sorted by age, so old is among them
	}
	return old, nil
}
