package runstate

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Unserved lists runs, each once, that have had a unit parked since before some time because no worker that took it has got
// what it names. It looks at units that are to be rung within ahead, at most so many: a worker parks such a unit again and
// again, each time for no longer than that.
func (s *Store) Unserved(ctx context.Context, queue string, before time.Time, ahead time.Duration, most int) ([]string, error) {
	now, err := s.Now(ctx, queue)
	if err != nil {
		return nil, err
	}
	members, err := s.rdb.ZRangeByScore(ctx, outboxKey(queue), &redis.ZRangeBy{
		Min: strconv.FormatInt(now.UnixMilli(), 10), Max: strconv.FormatInt(now.Add(ahead).UnixMilli(), 10), Count: int64(most),
	}).Result()
	if err != nil || len(members) == 0 {
		return nil, err
	}
	pipe := s.rdb.Pipeline()
	var runs []string
	var records []*redis.StringCmd
	for _, member := range members {
		if e, err := ParseEntry(queue, member); err == nil && e.Unit != DoneUnit {
			runs = append(runs, e.Run)
			records = append(records, pipe.HGet(ctx, runKey(e.Ref), "s"+e.Unit.String()))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil { //nolint:errorlint // a run that is gone meanwhile
		return nil, err
	}
	var unserved []string
	seen := map[string]bool{}
	for i, record := range records {
		rec, err := decodeStep(record.Val())
		if err == nil && rec.Waiting.Lacks != 0 && rec.Waiting.Parked.Before(before) && !seen[runs[i]] {
			seen[runs[i]] = true
			unserved = append(unserved, runs[i])
		}
	}
	return unserved, nil
}
