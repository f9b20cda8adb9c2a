package job

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// woken is the least that wakes asynq without polling, and no product: when the script that takes a task has found its queue
// empty, it waits there for a task that comes, and asks once more. It is right for one queue, and knows neither pauses nor ends.
type woken struct{ listens redis.UniversalClient }

func (woken) DialHook(next redis.DialHook) redis.DialHook { return next }

func (woken) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w woken) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		const takes, first = 9, 3 // the words of the script's call, and its first key
		if args := cmd.Args(); errors.Is(err, redis.Nil) && len(args) == takes {
			pending, _ := args[first].(string)
			if strings.HasSuffix(pending, "}:pending") && w.listens.BLMove(ctx, pending, pending, "RIGHT", "RIGHT", time.Second).Err() == nil {
				cmd.SetErr(nil)
				return next(ctx, cmd)
			}
		}
		return err
	}
}
