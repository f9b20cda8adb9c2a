package runstate

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
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

// ScanRuns calls f with every run of a queue that Redis still holds, in no order, until f says false.
func (s *Store) ScanRuns(ctx context.Context, queue string, f func(run string) bool) error {
	scan := func(ctx context.Context, c redis.Cmdable) error {
		it := c.Scan(ctx, 0, runPrefix(queue)+"*", 500).Iterator()
		for it.Next(ctx) {
			if !f(strings.TrimPrefix(it.Val(), runPrefix(queue))) {
				return nil
			}
		}
		return it.Err()
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
