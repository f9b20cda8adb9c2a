package job

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
)

// connect is a client of the job's Redis. With a tally, what its connections write is counted: go-redis writes what it has
// for a round trip at once, so that writes are round trips.
func connect(s Spec, t *Tally, poolSize int) redis.UniversalClient {
	var dial func(ctx context.Context, network, addr string) (net.Conn, error)
	if t != nil {
		dial = t.dial
	}
	if len(s.Redis) > 1 {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Redis, Dialer: dial, PoolSize: poolSize})
	}
	return redis.NewClient(&redis.Options{Addr: s.Redis[0], Dialer: dial, PoolSize: poolSize})
}

func (t *Tally) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{conn, t}, nil
}

// countedConn counts writes.
type countedConn struct {
	net.Conn
	tally *Tally
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.tally.writes.Add(1)
	c.tally.written.Add(int64(len(b)))
	return c.Conn.Write(b)
}
