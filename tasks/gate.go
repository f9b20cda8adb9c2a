package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/provider"
)

// Limit bounds the calls to one provider over the whole fleet; zero means no bound.
type Limit struct {
	InFlight  int // calls at a time
	PerMinute int // calls a minute, spread evenly: at most a second's worth at once
}

const (
	// gatePatience is how long a step waits in its slot for a provider, at the gate or because a failure said when to come
	// back. Who must wait longer is parked: no worker slot is held.
	gatePatience = time.Second
	gateRetry    = 100 * time.Millisecond
	// closedPatience is for a provider that opens in a moment: as when a step comes back at the time it was told.
	closedPatience = 100 * time.Millisecond
	// placeLease is how long a killed worker's place in flight stays taken.
	placeLease = 15 * time.Second
	// closedKnown is how old a worker's knowledge of a closed provider may be.
	closedKnown = 250 * time.Millisecond
)

// gate limits calls over the whole fleet, in Redis:
//
//	fourfold:{limit:<provider>}:inflight  ZSET    a token for each call, score = end of its lease
//	fourfold:{limit:<provider>}:closed    STRING  until when nobody may call (Unix milliseconds), expiring then
//	rate:fourfold:{limit:<provider>}      STRING  redis_rate's
//
// A Redis that does not answer lets calls through: limits protect a provider's quota, they are not worth an outage.
type gate struct {
	rdb    redis.UniversalClient
	rate   *redis_rate.Limiter
	limits map[provider.Name]Limit

	mu     sync.Mutex
	places map[string]provider.Name // tokens held → whose
	closed map[provider.Name]closing
	beat   sync.Once
}

// closing is what is known of a provider's being closed.
type closing struct{ until, asked time.Time }

// NewGate returns the fleet-wide gate for providers with these limits; a provider without one can still be closed. One
// gate serves all providers of a process, for as long as it lives.
func NewGate(rdb redis.UniversalClient, limits map[provider.Name]Limit) provider.Gate {
	return &gate{
		rdb: rdb, rate: redis_rate.NewLimiter(rdb), limits: limits,
		places: map[string]provider.Name{}, closed: map[provider.Name]closing{},
	}
}

func gateKey(n provider.Name, what string) string {
	return "fourfold:{limit:" + n.String() + "}" + what
}

// Enter implements provider.Gate: it waits up to a second for a place, else it answers *executor.Parked.
func (g *gate) Enter(ctx context.Context, n provider.Name) (leave func(), err error) {
	patience := time.Now().Add(gatePatience)
	for {
		if closed := time.Until(g.closedUntil(ctx, n)); closed > closedPatience { // the next provider may be asked meanwhile
			return nil, &executor.Parked{NotBefore: time.Now().Add(closed)}
		}
		leave, wait := g.try(ctx, n)
		if wait == 0 {
			return leave, nil
		}
		if notBefore := time.Now().Add(wait); notBefore.After(patience) {
			return nil, &executor.Parked{NotBefore: notBefore}
		}
		if !pause(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// try takes a place, or says how long to wait before the next try.
func (g *gate) try(ctx context.Context, n provider.Name) (leave func(), wait time.Duration) {
	if until := g.closedUntil(ctx, n); time.Until(until) > 0 {
		return nil, time.Until(until)
	}
	limit := g.limits[n]
	leave = func() {}
	if limit.InFlight > 0 {
		token, ok := g.takePlace(ctx, n, limit.InFlight)
		if !ok {
			return nil, gateRetry + mathrand.N(gateRetry)
		}
		leave = sync.OnceFunc(func() { g.leavePlace(ctx, n, token) })
	}
	if limit.PerMinute > 0 {
		rate := redis_rate.Limit{Rate: limit.PerMinute, Burst: max(1, limit.PerMinute/60), Period: time.Minute}
		res, err := g.rate.Allow(ctx, gateKey(n, ""), rate)
		if err == nil && res.Allowed == 0 {
			leave()
			return nil, max(res.RetryAfter, time.Millisecond)
		}
	}
	return leave, 0
}

// Close implements provider.Gate. The latest time wins.
func (g *gate) Close(ctx context.Context, n provider.Name, until time.Time) {
	g.mu.Lock()
	if until.After(g.closed[n].until) {
		g.closed[n] = closing{until, time.Now()}
	}
	g.mu.Unlock()
	_ = closeScript.Run(ctx, g.rdb, []string{gateKey(n, ":closed")}, until.UnixMilli()).Err()
}

// closeScript lets a provider be closed for longer, never for less.
var closeScript = redis.NewScript(`
local old = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) > old then
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('PEXPIREAT', KEYS[1], ARGV[1])
end
return 0`)

func (g *gate) closedUntil(ctx context.Context, n provider.Name) time.Time {
	g.mu.Lock()
	known := g.closed[n]
	now := time.Now()
	fresh := now.Sub(known.asked) < closedKnown || known.until.After(now)
	if !fresh {
		known.asked = now
		g.closed[n] = known // others need not ask at the same time
	}
	g.mu.Unlock()
	if fresh {
		return known.until
	}
	ms, err := g.rdb.Get(ctx, gateKey(n, ":closed")).Int64()
	if err != nil {
		return time.Time{} // not closed, or not known
	}
	until := time.UnixMilli(ms)
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.closed[n].until) {
		g.closed[n] = closing{until, now}
	}
	return g.closed[n].until
}

// placeScript takes a place in flight: KEYS 1 the places; ARGV token, most, lease (ms). 1: taken.
var placeScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[3]) * 4)
return 1`)

// holdScript extends places: KEYS 1 the places; ARGV lease (ms), then tokens. A place that was lost is not taken back.
var holdScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[1]), ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[1]) * 4)
return 0`)

func (g *gate) takePlace(ctx context.Context, n provider.Name, most int) (token string, ok bool) {
	token = rand.Text()
	taken, err := placeScript.Run(ctx, g.rdb, []string{gateKey(n, ":inflight")}, token, most, placeLease.Milliseconds()).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", true
	}
	if taken == 0 {
		return "", false
	}
	g.mu.Lock()
	g.places[token] = n
	g.mu.Unlock()
	g.beat.Do(func() { go g.hold() })
	return token, true
}

func (g *gate) leavePlace(ctx context.Context, n provider.Name, token string) {
	if token == "" {
		return
	}
	g.mu.Lock()
	delete(g.places, token)
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatePatience)
	defer cancel()
	_ = g.rdb.ZRem(ctx, gateKey(n, ":inflight"), token).Err() // else the lease ends
}

// hold extends the places that this process has taken, for as long as the process lives.
func (g *gate) hold() {
	for range time.Tick(placeLease / 3) {
		for n, tokens := range g.held() {
			ctx, cancel := context.WithTimeout(context.Background(), placeLease/3)
			_ = holdScript.Run(ctx, g.rdb, []string{gateKey(n, ":inflight")}, append([]any{placeLease.Milliseconds()}, tokens...)...).Err()
			cancel()
		}
	}
}

func (g *gate) held() map[provider.Name][]any {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[provider.Name][]any{}
	for token, n := range g.places {
		out[n] = append(out[n], token)
	}
	return out
}
