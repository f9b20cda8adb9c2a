package telemetry

import (
	"context"
	"fmt"
	"strings"
)

// QueueLog passes on what the queue library (asynq) logs, with the library's free text replaced by texts known here: its
// messages hold task errors, panic values and Redis addresses. It has the methods of asynq.Logger.
type QueueLog struct{ to Leveled }

// NewQueueLog returns a QueueLog that logs to l; nil: silent.
func NewQueueLog(l Leveled) *QueueLog { return &QueueLog{l} }

// Debug logs at debug.
func (q *QueueLog) Debug(args ...any) { q.log(Leveled.Debug, args) }

// Info logs at info.
func (q *QueueLog) Info(args ...any) { q.log(Leveled.Info, args) }

// Warn logs at warn.
func (q *QueueLog) Warn(args ...any) { q.log(Leveled.Warn, args) }

// Error logs at error.
func (q *QueueLog) Error(args ...any) { q.log(Leveled.Error, args) }

// Fatal logs at error. It does not end the process: whoever runs the server sees its error and decides.
func (q *QueueLog) Fatal(args ...any) { q.log(Leveled.Error, args) }

func (q *QueueLog) log(at func(Leveled, string, ...any), args []any) {
	if q == nil || q.to == nil {
		return
	}
	text := fmt.Sprint(args...)
	for _, known := range queueMessages {
		if strings.HasPrefix(text, known.prefix) {
			at(q.to, known.text, "code", known.code, "because", causeIn(text))
			return
		}
	}
	at(q.to, "queue library message", "code", "unknown", "because", causeIn(text))
}

// queueMessages are the messages of asynq v0.26 that an operator may meet, by how they begin.
var queueMessages = []struct{ prefix, code, text string }{
	{"Starting processing", "started", "queue processing started"},
	{"Starting graceful shutdown", "stopping", "queue shutdown started"},
	{"Waiting for all workers to finish", "waiting", "queue waits for the steps in flight"},
	{"All workers have finished", "idle", "no step is in flight"},
	{"Stopping processor", "stopping", "queue stops taking steps"},
	{"Processor stopped", "stopped", "queue takes no steps"},
	{"Exiting", "exited", "queue processing ended"},
	{"Send signal", "signals", "queue library offers signals of its own"},
	{"All queues are empty", "empty", "all queues are empty"},
	{"Dequeue error", "dequeue", "queue could not be read"},
	{"Quitting worker", "cut", "step was cut by the shutdown"},
	{"Could not push task", "requeue_failed", "step could not be given back to the queue"},
	{"Pushed task", "requeued", "step was given back to the queue"},
	{"revoke task", "revoked", "task was revoked"},
	{"Retry exhausted", "exhausted", "task has no deliveries left and is archived"},
	{"recovering from panic", "panic", "task handler panicked"},
	{"cannot subscribe to cancelation channel", "subscribe", "queue library could not subscribe to cancellations"},
	{"Failed to clear server state", "heartbeat", "queue server's record could not be removed"},
	{"Failed to write server state data", "heartbeat", "queue server's record could not be written"},
	{"Failed to extend lease", "lease", "leases of steps in flight could not be extended"},
	{"Lease reset failed", "lease", "lease of a step was lost"},
	{"recoverer: could not list lease expired tasks", "recover_list", "tasks of dead workers could not be listed"},
	{"recoverer: could not retry lease expired task", "recover_retry", "task of a dead worker could not be put back"},
	{"recoverer: could not move task to archive", "recover_archive", "task of a dead worker could not be archived"},
	{"recoverer: could not reclaim stale aggregation sets", "recover_groups", "groups of tasks could not be reclaimed"},
	{"Failed to forward scheduled tasks", "forward", "due tasks could not be moved to their queues"},
	{"Failed to delete expired completed tasks", "janitor", "records of old tasks could not be removed"},
	{"Could not remove task id", "done_lost", "task's end could not be written and is tried again"},
	{"Could not move task id", "done_lost", "task's end could not be written and is tried again"},
	{"asynq: internal error", "internal", "queue library reports an error of its own"},
}

// causes are the reasons looked for in messages of libraries, as what they print and the code that is logged.
var causes = []struct{ text, code string }{
	{"connection refused", "connection refused"},
	{"connection reset", "connection reset"},
	{"broken pipe", "connection reset"},
	{"no such host", "name not resolved"},
	{"i/o timeout", "timeout"},
	{"context deadline exceeded", "timeout"},
	{"context canceled", "canceled"},
	{"WRONGPASS", "redis WRONGPASS"},
	{"NOAUTH", "redis NOAUTH"},
	{"NOPERM", "redis NOPERM"},
	{"OOM command not allowed", "redis OOM"},
	{"READONLY", "redis READONLY"},
	{"LOADING", "redis LOADING"},
	{"CLUSTERDOWN", "redis CLUSTERDOWN"},
	{"MASTERDOWN", "redis MASTERDOWN"},
	{"MISCONF", "redis MISCONF"},
	{"NOT_FOUND", "not found"},
	{"EOF", "connection closed"},
}

// causeIn names the reason that text gives, as a type that logs as it is; unknown when it is none of causes.
func causeIn(text string) cause {
	for _, known := range causes {
		if strings.Contains(text, known.text) {
			return cause(known.code)
		}
	}
	return "unknown"
}

// cause is a reason from the table above: text of ours, so that it may be logged although it has spaces.
type cause string

// RedisLog passes on what the Redis client (go-redis) logs: the fixed part of its message, never what was formatted into
// it, which holds addresses, keys and error texts. It has the method of go-redis's logger, for redis.SetLogger.
type RedisLog struct{ to Leveled }

// NewRedisLog returns a RedisLog that logs to l; nil: silent.
func NewRedisLog(l Leveled) *RedisLog { return &RedisLog{l} }

// Printf logs at warn: the client logs little but trouble.
func (r *RedisLog) Printf(_ context.Context, format string, args ...any) {
	if r == nil || r.to == nil {
		return
	}
	because := cause("unknown")
	for _, a := range args {
		if err, ok := a.(error); ok {
			because = cause(ErrorCode(err))
		}
	}
	r.to.Warn("redis client: "+fixedPart(format), "because", because)
}

// redisComponents begin the client's messages; a format that begins otherwise was not written by the client.
var redisComponents = []string{"redis: ", "sentinel: ", "cluster: ", "pubsub: ", "push: ", "csc: ", "autopipeline: ", "ring shard ", "conn["}

// fixedPart returns the words of a format without its verbs and what they would have printed.
func fixedPart(format string) string {
	i := 0
	for i < len(redisComponents) && !strings.HasPrefix(format, redisComponents[i]) {
		i++
	}
	if i == len(redisComponents) {
		return "message"
	}
	var words strings.Builder
	for rest := strings.TrimPrefix(format, "redis: "); rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		words.WriteString(before)
		if !found {
			break
		}
		words.WriteByte('_')
		rest = after[min(len(after), verbLength(after)):]
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, words.String())
	return strings.TrimSpace(text[:min(len(text), longestIdent)])
}

// verbLength is the length of what follows the percent sign of a verb: flags, width, precision and the letter.
func verbLength(after string) int {
	return strings.IndexFunc(after, func(r rune) bool { return !strings.ContainsRune("+-# 0123456789.*[]", r) }) + 1
}
