// Package redistest starts real Redis servers for tests: one, a cluster of masters, or a master with a replica and a
// sentinel.
//
//	rs := redistest.Start(t)                       // free loopback port, own folder, killed when the test ends
//	rdb := rs.Client(t)                            // a go-redis client, closed when the test ends
//	rs.Pause(); rs.Cont(); rs.Kill(); rs.Restart() // what a network, a host or an operator does to it
//
//	rc := redistest.StartCluster(t, 3)             // three masters, all slots assigned
//	rdb := rc.Client(t)
//
//	se := redistest.StartSentinel(t)               // se.Failover(t) lets the master die
//	rdb := se.Client(t)
//
// The binary is FOURFOLD_REDIS_SERVER, or redis-server on the PATH; without it the test fails and says how to get it: a
// test that needs Redis never passes unseen. A server holds nothing on disk unless Persistent is given; it dies with the
// test process, even when that is killed.
//
// Where a test needs no real Redis, miniredis is faster; where the answer depends on Redis (blocking commands, memory,
// expiry, restarts, a cluster), it is this package.
package redistest
