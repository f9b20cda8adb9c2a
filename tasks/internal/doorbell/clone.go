package doorbell

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ErrClient is returned for a Redis client that is none of go-redis' single, Sentinel and cluster clients.
var ErrClient = errors.New("doorbell: the Redis client must be a *redis.Client or a *redis.ClusterClient")

// tuning is how a copy of a client differs from its original. Zero fields keep the original's.
type tuning struct {
	readTimeout time.Duration
	maxRetries  int // -1: none
	minBackoff  time.Duration
	maxBackoff  time.Duration
	poolSize    int
	idle        int // connections kept open without work; zero: all that were ever needed at once
}

// steady is for commands that may be sent twice: a connection that swallows them is given up early, and an outage of some
// seconds is waited out.
var steady = tuning{readTimeout: time.Second, maxRetries: 20, minBackoff: 20 * time.Millisecond, maxBackoff: 500 * time.Millisecond, idle: lanes}

// taking is for the script that takes a task: sent once, and its answer waited for, since a task whose answer is lost is
// out of reach until its lease has ended.
func taking(servers int) tuning {
	return tuning{readTimeout: takeTimeout, maxRetries: -1, poolSize: servers + 2, idle: servers}
}

// listening is for the blocking command that waits for work.
func listening(queues int) tuning {
	return tuning{readTimeout: listenFor + 2*time.Second, maxRetries: -1, poolSize: queues + 2, idle: queues}
}

// A fleet of a thousand workers must fit into the ten thousand clients that a Redis admits by default. go-redis keeps what a
// burst has opened, and other connections for pipelines, with large buffers; so each copy says how many may idle, and uses
// the same for pipelines.

// dialTimeout is for every copy.
const dialTimeout = 2 * time.Second

// clone returns a client of its own for the same Redis: with its own connections and hooks, so that those of the original
// stay the caller's. A Sentinel client's copy finds the master as the original does.
func clone(rdb redis.UniversalClient, t tuning) (redis.UniversalClient, error) {
	switch original := rdb.(type) {
	case *redis.Client:
		o := *original.Options()
		o.DialTimeout, o.DialerRetries = dialTimeout, 1 // a command that may be tried again dials again
		t.apply(&o.ReadTimeout, &o.MaxRetries, &o.MinRetryBackoff, &o.MaxRetryBackoff, &o.PoolSize)
		o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.PipelinePoolSize = 0, t.idle, 0, -1
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noHandover()
		return redis.NewClient(&o), nil
	case *redis.ClusterClient:
		o := *original.Options()
		o.DialTimeout, o.DialerRetries = dialTimeout, 1
		// A cluster client tries again by itself, at another node if need be; tries of the nodes' clients would multiply.
		override(&o.MaxRedirects, max(0, t.maxRetries))
		t.maxRetries = -1
		t.apply(&o.ReadTimeout, &o.MaxRetries, &o.MinRetryBackoff, &o.MaxRetryBackoff, &o.PoolSize)
		o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.PipelinePoolSize = 0, t.idle, 0, -1
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noHandover()
		return redis.NewClusterClient(&o), nil
	default:
		return nil, ErrClient
	}
}

// noHandover: Redis Enterprise can announce maintenance to a client. The original's setting and its processor of such
// messages belong to it alone; a copy does without them, and without their command on each new connection: it reconnects
// and tries again as after any other break.
func noHandover() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func (t tuning) apply(readTimeout *time.Duration, maxRetries *int, minBackoff, maxBackoff *time.Duration, poolSize *int) {
	override(readTimeout, t.readTimeout)
	override(maxRetries, t.maxRetries)
	override(minBackoff, t.minBackoff)
	override(maxBackoff, t.maxBackoff)
	override(poolSize, t.poolSize)
}

func override[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// sleep waits for d, or returns false when done is closed first.
func sleep(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}
