package doorbell

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// serverHook stands between one asynq server and Redis. It sends the script that takes a task through a taker, which
// waits for work instead of polling, and what else it does through a client that many servers share, so that the server's
// own connects for its subscription alone; and it lets no command fail only because its context was canceled (D1).
type serverHook struct {
	recognise func(redis.Cmder) (ask, bool)
	taker     *taker
	scripts   redis.UniversalClient // coalescing
}

func (h *serverHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *serverHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(uncanceled(ctx), cmds) }
}

func (h *serverHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx = uncanceled(ctx)
		if reply, ok := cmd.(*redis.Cmd); ok {
			if a, ok := h.recognise(cmd); ok {
				if !h.taker.places.await(h.taker.yard.stop) {
					return errParked
				}
				return h.taker.take(ctx, reply, a)
			}
		}
		switch cmd.Name() {
		case "evalsha", "eval", "zadd", "zrem", "sadd": // and none by which a connection makes itself known
			if isDone(cmd) && !h.taker.yard.closed() {
				ctx = patiently(ctx)
			}
			return h.scripts.Process(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

// uncanceled is ctx without its end, if that has come by cancelation. asynq's retries of "this task is done" carry a
// context that it has canceled itself (v0.25 and v0.26): they would all fail, and the task would run again (D1). A
// deadline stands: asynq sets it to the end of the lease.
func uncanceled(ctx context.Context) context.Context {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// isDone recognises asynq's account of a task that is done, for which nobody waits:
//
//	EVALSHA sha 5 asynq:{q}:active asynq:{q}:lease asynq:{q}:t:<id> asynq:{q}:processed:<date> asynq:{q}:processed <id> ...
func isDone(cmd redis.Cmder) bool {
	const keys, doneKeys, date = 3, 5, 6
	args := cmd.Args()
	if len(args) < keys+doneKeys || args[2] != any(doneKeys) {
		return false
	}
	active, _ := args[keys].(string)
	processed, _ := args[date].(string)
	return strings.HasSuffix(active, "}:active") && strings.Contains(processed, "}:processed:")
}

// ask is the script by which asynq takes a task from a queue:
//
//	EVALSHA sha 4 asynq:{q}:pending asynq:{q}:paused asynq:{q}:active asynq:{q}:lease <lease end, Unix> asynq:{q}:t:
//
// It answers with a message, or with nil when there is none. TestTakingScriptIsThatOfThePinnedAsynq fails when another
// version asks otherwise; then this is not recognised, and asynq polls every pollInterval.
type ask struct {
	queue string
	args  []any
	asked time.Time
}

const (
	askedKeys   = 3 // where the keys begin among a script's arguments
	askedLease  = 7 // where the lease's end is
	askedLength = 9
)

var askedSuffixes = [...]string{"}:pending", "}:paused", "}:active", "}:lease"}

func parseAsk(cmd redis.Cmder) (ask, bool) {
	args := cmd.Args()
	if name := cmd.Name(); name != "evalsha" && name != "eval" || len(args) != askedLength || args[2] != any(len(askedSuffixes)) {
		return ask{}, false
	}
	queue := ""
	for i, suffix := range askedSuffixes {
		key, ok := args[askedKeys+i].(string)
		name, cut := strings.CutSuffix(key, suffix)
		if name, isKey := strings.CutPrefix(name, "asynq:{"); ok && cut && isKey && (i == 0 || name == queue) {
			queue = name
			continue
		}
		return ask{}, false
	}
	if _, ok := args[askedLease].(int64); !ok {
		return ask{}, false
	}
	return ask{queue: queue, args: args, asked: time.Now()}, true
}

// again is the same question now: with the lease's end as far ahead as it was.
func (a ask) again(now time.Time) []any {
	args := append([]any(nil), a.args...)
	if end, ok := args[askedLease].(int64); ok {
		args[askedLease] = end + int64(now.Sub(a.asked)/time.Second)
	}
	return args
}
