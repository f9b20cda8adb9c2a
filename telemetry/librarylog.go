package telemetry

import (
	"context"
	"strings"
)

// cause is a reason that ErrorCode names: text of ours, so that it may be logged although it has spaces.
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
