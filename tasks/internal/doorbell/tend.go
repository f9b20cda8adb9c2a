package doorbell

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Pause keeps rings of the queue from being taken, by asynq's own mark, until Resume. A queue that is paused stays so.
func Pause(ctx context.Context, rdb redis.UniversalClient, queue string) error {
	return rdb.SetNX(ctx, queueKey(queue, "paused"), strconv.FormatInt(time.Now().Unix(), 10), 0).Err()
}

// Resume ends a pause, asynq's tools' included. A queue that is not paused stays so.
func Resume(ctx context.Context, rdb redis.UniversalClient, queue string) error {
	return rdb.Del(ctx, queueKey(queue, "paused")).Err()
}

// Discard empties the queue's archive and says how many entries there were. No run depends on them.
func Discard(rdb redis.UniversalClient, queue string) (int, error) {
	n, err := asynq.NewInspectorFromRedisClient(rdb).DeleteAllArchivedTasks(queue)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return 0, nil
	}
	return n, err
}
