package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// tryWriting is what every script of a worker does: write a key. It is gone after a second.
var tryWriting = redis.NewScript(`return redis.call('SET', KEYS[1], '1', 'PX', '1000')`)

// refusals are the words with which Redis refuses to write for everybody, and what they mean.
var refusals = []struct{ word, means string }{
	{"OOM", "its memory is full"},
	{"MISCONF", "it cannot write to its disk"},
	{"READONLY", "it is a replica"},
	{"NOREPLICAS", "it has too few replicas"},
	{"CLUSTERDOWN", "the cluster is not whole"},
	{"LOADING", "it is still loading its data"},
}

// checkRights does once what a worker does all the time, so that an ACL that is too narrow is seen before work is lost on it,
// and a Redis that answers and takes nothing is not called good.
func checkRights(ctx context.Context, rdb redis.UniversalClient, limits bool) finding {
	keys := []string{"fourfold:{check}:rights", "asynq:{check}:rights"}
	if limits {
		keys = append(keys, "rate:fourfold:{check}:rights")
	}
	var lacking []string
	for _, key := range keys {
		err := tryWriting.Run(ctx, rdb, []string{key}).Err()
		for _, r := range refusals {
			if err != nil && strings.Contains(err.Error(), r.word+" ") { // Redis 6 puts it after words on the script
				return finding{"redis-writes", bad, fmt.Sprintf("Redis answers and refuses to write: %s (%s); see docs/operations.md, Runbooks, Redis", r.means, r.word)}
			}
		}
		if redis.HasErrorPrefix(err, "NOPERM") {
			prefix, _, _ := strings.Cut(key, "{")
			lacking = append(lacking, "run scripts that write "+prefix+"*")
		}
	}
	for _, channel := range []string{"fourfold:check", "asynq:check"} {
		if redis.HasErrorPrefix(rdb.Publish(ctx, channel, "").Err(), "NOPERM") {
			prefix, _, _ := strings.Cut(channel, ":")
			lacking = append(lacking, "publish on "+prefix+":*")
		}
	}
	if len(lacking) > 0 {
		return finding{"redis-rights", bad, fmt.Sprintf("this user may not %s; see docs/operations.md, Users in Redis", strings.Join(lacking, ", nor "))}
	}
	return finding{"redis-rights", good, "this user may do what a worker does"}
}
