package runstate

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
)

// ErrNoBundle means that no bundle is stored under a SHA.
var ErrNoBundle = errors.New("runstate: no bundle under this SHA")

// keptFor is how long a queue believes that a bundle is there without having looked.
const keptFor = time.Hour

// KeepBundle sees to it that a bundle is stored for keep, which must be much longer than an hour, and says so to the queue, for that hour: Create
// makes no run whose bundle nobody has seen there. data is called when the bundle is not stored yet.
func (s *Store) KeepBundle(ctx context.Context, queue, sha string, keep time.Duration, data func() []byte) error {
	there, err := s.RenewBundle(ctx, sha, keep)
	if err == nil && !there {
		err = s.rdb.Set(ctx, bundleKey(sha), data(), keep).Err()
	}
	if err != nil {
		return err
	}
	return s.rdb.Set(ctx, keptKey(queue, sha), 1, keptFor).Err()
}

// RenewBundle renews the bundle's time and says whether it is stored.
func (s *Store) RenewBundle(ctx context.Context, sha string, keep time.Duration) (bool, error) {
	return s.rdb.PExpire(ctx, bundleKey(sha), keep).Result()
}

// LostBundle takes back what KeepBundle said, of a bundle that is not there after all: it was on a node of a cluster that lost
// what the queue's has kept.
func (s *Store) LostBundle(ctx context.Context, queue, sha string) error {
	return s.rdb.Del(ctx, keptKey(queue, sha)).Err()
}

// GetBundle reads a bundle. Errors: ErrNoBundle.
func (s *Store) GetBundle(ctx context.Context, sha string) ([]byte, error) {
	data, err := s.rdb.Get(ctx, bundleKey(sha)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, ErrNoBundle
	}
	return data, err
}

// FailedRuns lists finished FAILED runs of a queue, newest first, that finished after since.
func (s *Store) FailedRuns(ctx context.Context, queue string, since time.Time, most int) ([]string, error) {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(since.UnixMilli(), 10)
	}
	return s.rdb.ZRevRangeByScore(ctx, failedKey(queue), &redis.ZRangeBy{Min: from, Max: "+inf", Count: int64(most)}).Result()
}

// OpenRuns lists open runs by when the sweeper must look at them, soonest first; only those due before, if set.
func (s *Store) OpenRuns(ctx context.Context, queue string, dueBefore time.Time, most int) ([]string, error) {
	until := "+inf"
	if !dueBefore.IsZero() {
		until = strconv.FormatInt(dueBefore.UnixMilli(), 10)
	}
	return s.rdb.ZRangeByScore(ctx, dueKey(queue), &redis.ZRangeBy{Min: "-inf", Max: until, Count: int64(most)}).Result()
}

// scanPage is how many keys of Redis are looked at in one round trip: few enough that no other client notices.
const scanPage = 500

// ScanRuns calls f with the runs of a queue that Redis still holds and that have ended with the outcome (none: all runs, open
// ones too), page by page and in no order, until f says false. Of a run that does not fit it reads one short field.
func (s *Store) ScanRuns(ctx context.Context, queue string, o executor.Outcome, f func(runs []string) bool) error {
	scan := func(ctx context.Context, c redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, runPrefix(queue)+"*", scanPage).Result()
			if err != nil {
				return err
			}
			runs, err := ended(ctx, c, keys, o)
			if err != nil {
				return err
			}
			for i, key := range runs {
				runs[i] = strings.TrimPrefix(key, runPrefix(queue))
			}
			if len(runs) > 0 && !f(runs) || next == 0 {
				return nil
			}
			cursor = next
		}
	}
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok { // a queue lives on one node
		node, err := cluster.MasterForKey(ctx, runPrefix(queue))
		if err != nil {
			return err
		}
		return scan(ctx, node)
	}
	return scan(ctx, s.rdb)
}

// ended picks the keys of runs that have ended with the outcome.
func ended(ctx context.Context, c redis.Cmdable, keys []string, o executor.Outcome) ([]string, error) {
	if o == executor.OutcomeNone || len(keys) == 0 {
		return keys, nil
	}
	pipe := c.Pipeline()
	records := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		records[i] = pipe.HGet(ctx, key, "r")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) { // a run that is gone meanwhile
		return nil, err
	}
	var picked []string
	for i, record := range records {
		moving := strings.SplitN(record.Val(), "|", 10)
		if len(moving) != 10 || moving[0] != "d" {
			continue
		}
		if m, err := ParseMarker(moving[9]); err == nil && m.Outcome == o {
			picked = append(picked, keys[i])
		}
	}
	return picked, nil
}

// Sizes is how many entries a queue's indexes hold.
type Sizes struct{ Outbox, Open, Failed, Claims int64 }

// Sizes reads them in one round trip.
func (s *Store) Sizes(ctx context.Context, queue string) (Sizes, error) {
	pipe := s.rdb.Pipeline()
	outbox, open := pipe.ZCard(ctx, outboxKey(queue)), pipe.ZCard(ctx, dueKey(queue))
	failed, claims := pipe.ZCard(ctx, failedKey(queue)), pipe.ZCard(ctx, claimsKey(queue))
	if _, err := pipe.Exec(ctx); err != nil {
		return Sizes{}, err
	}
	return Sizes{outbox.Val(), open.Val(), failed.Val(), claims.Val()}, nil
}
