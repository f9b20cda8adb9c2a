package doorbell

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is where asynq has a ring.
type State uint8

// Where asynq has a ring. Unknown is a state that v0.26 does not have.
const (
	Absent State = iota
	Pending
	Active
	Scheduled
	Retry
	Archived
	Completed
	Unknown
)

var stateNames = [...]string{"absent", "pending", "active", "scheduled", "retry", "archived", "completed", "unknown"}

func (s State) String() string { return stateNames[min(s, Unknown)] }

// Presence is what asynq knows of one ring.
type Presence struct {
	State State
	// Lease is, of an active ring, until when its worker holds it; zero: nobody holds it, and asynq will never deliver it
	// again by itself (D10). A worker extends the lease every five seconds, to 30 seconds; asynq takes a ring back between
	// 30 and 90 seconds after the lease has ended.
	Lease time.Time
}

// Live says whether asynq will deliver the ring, or a worker has it right now.
func (p Presence) Live(now time.Time) bool {
	switch p.State {
	case Pending, Scheduled, Retry:
		return true
	case Active:
		return now.Before(p.Lease)
	case Absent, Archived, Completed, Unknown:
		return false
	}
	return false
}

// asynqLease is how far ahead asynq v0.26 sets a lease.
const asynqLease = 30 * time.Second

// Unattended is for how long the worker that has an active ring has said nothing of it; zero for rings in other states.
func (p Presence) Unattended(now time.Time) time.Duration {
	if p.State != Active {
		return 0
	}
	return max(0, now.Add(asynqLease).Sub(p.Lease))
}

// Live looks up rings of one queue by ID, in one round trip. The answer has an entry for every ID.
func Live(ctx context.Context, rdb redis.UniversalClient, queue string, ids []string) (map[string]Presence, error) {
	if len(ids) == 0 {
		return map[string]Presence{}, nil
	}
	states := make([]*redis.StringCmd, len(ids))
	leases := make([]*redis.FloatCmd, len(ids))
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			states[i] = p.HGet(ctx, taskKey(queue, id), "state")
			leases[i] = p.ZScore(ctx, queueKey(queue, "lease"), id)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	found := make(map[string]Presence, len(ids))
	for i, id := range ids {
		if err := errors.Join(realError(states[i].Err()), realError(leases[i].Err())); err != nil {
			return nil, err
		}
		p := Presence{State: parseState(states[i].Val())}
		if p.State == Active && leases[i].Err() == nil {
			p.Lease = time.Unix(int64(leases[i].Val()), 0)
		}
		found[id] = p
	}
	return found, nil
}

func parseState(s string) State {
	if s == "" {
		return Absent
	}
	if i := slices.Index(stateNames[:Unknown], s); i > 0 {
		return State(i)
	}
	return Unknown
}

// realError is err, or nil where Redis only said that there is nothing.
func realError(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// Sizes is how much asynq has of one queue. It is read from the lists and sets themselves: asynq's own summary fails for
// a queue with one damaged entry (D9), and for a queue that was never used.
type Sizes struct {
	Pending, Active, Scheduled, Retry, Archived, Completed int64
	// Stranded is how many active rings asynq will never deliver again by itself (D9, D10): nobody holds them, or their
	// lease ended so long ago that it has failed to take them back. The sweeper rings anew for what they stood for; the
	// entries stay, and an operator removes them (docs/asynq.md).
	Stranded int64
	// OldestPending is how long the oldest pending ring has waited; zero: none waits, or those at the head were given back
	// by stopping workers, of which asynq does not say since when they wait (D12). Do not scale by it alone.
	OldestPending time.Duration
	Paused        bool
}

// lostAfter is how long after a lease's end asynq has surely tried to take the ring back: 30 seconds of grace, a minute
// between two looks, and some.
const lostAfter = 3 * time.Minute

// lookedAtForAge is how many rings at the head of a queue are asked for their age: those given back by stopping workers
// have none.
const lookedAtForAge = 16

// ReadSizes reads one queue in two round trips; an unknown queue is empty.
func ReadSizes(ctx context.Context, rdb redis.UniversalClient, queue string) (Sizes, error) {
	var counts [7]*redis.IntCmd
	var ended *redis.IntCmd
	var paused *redis.IntCmd
	var head *redis.StringSliceCmd
	if _, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, list := range []string{"pending", "active"} {
			counts[i] = p.LLen(ctx, queueKey(queue, list))
		}
		for i, set := range []string{"scheduled", "retry", "archived", "completed", "lease"} {
			counts[2+i] = p.ZCard(ctx, queueKey(queue, set))
		}
		ended = p.ZCount(ctx, queueKey(queue, "lease"), "-inf", strconv.FormatInt(time.Now().Add(-lostAfter).Unix(), 10))
		paused = p.Exists(ctx, queueKey(queue, "paused"))
		head = p.LRange(ctx, queueKey(queue, "pending"), -lookedAtForAge, -1)
		return nil
	}); err != nil {
		return Sizes{}, err
	}
	oldest, err := oldestPending(ctx, rdb, queue, head.Val())
	if err != nil {
		return Sizes{}, err
	}
	return Sizes{
		Pending: counts[0].Val(), Active: counts[1].Val(), Scheduled: counts[2].Val(), Retry: counts[3].Val(),
		Archived: counts[4].Val(), Completed: counts[5].Val(), Stranded: max(0, counts[1].Val()-counts[6].Val()) + ended.Val(),
		OldestPending: oldest, Paused: paused.Val() > 0,
	}, nil
}

// oldestPending asks the rings at the head of the queue since when they wait.
func oldestPending(ctx context.Context, rdb redis.UniversalClient, queue string, head []string) (time.Duration, error) {
	if len(head) == 0 {
		return 0, nil
	}
	since := make([]*redis.StringCmd, len(head))
	if _, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range head {
			since[i] = p.HGet(ctx, taskKey(queue, id), "pending_since")
		}
		return nil
	}); realError(err) != nil {
		return 0, err
	}
	var oldest time.Duration
	for _, cmd := range since {
		if ns, err := strconv.ParseInt(cmd.Val(), 10, 64); err == nil {
			oldest = max(oldest, time.Since(time.Unix(0, ns)))
		}
	}
	return oldest, nil
}

// QueueNames returns the names of all queues that were ever announced, sorted.
func QueueNames(ctx context.Context, rdb redis.UniversalClient) ([]string, error) {
	names, err := rdb.SMembers(ctx, allQueues).Result()
	slices.Sort(names)
	return names, err
}
