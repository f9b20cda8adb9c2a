package redistest

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
)

// Servers listen between firstPort and firstPort+ports, and a cluster's node also busAbove its port. Both ranges are below
// the ports that an operating system gives to connections by itself (from 32768 on Linux, from 49152 elsewhere): one of
// those would be taken by some client of any program as soon as its server is killed, and Restart would fail.
const (
	firstPort = 12000
	ports     = 8000
	busAbove  = 10000
)

// holdPort finds a loopback port that nobody listens on, and holds it until the test ends, so that no other test is given it
// before the server listens or while the server is killed. What holds it is a UDP socket on the same number, which Redis
// has no use for: the hold is one of the machine, and ends with the process whatever becomes of it.
func holdPort(tb TB, cluster bool) int {
	tb.Helper()
	for range 1000 {
		port := firstPort + rand.N(ports)
		hold, err := new(net.ListenConfig).ListenPacket(context.Background(), "udp", loopback(port))
		if err != nil {
			continue
		}
		if isFree(port) && (!cluster || isFree(port+busAbove)) {
			tb.Cleanup(func() { _ = hold.Close() }) // nothing was sent that could fail
			return port
		}
		_ = hold.Close()
	}
	tb.Fatalf("redistest: no free port")
	return 0
}

func isFree(port int) bool {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", loopback(port))
	if err != nil {
		return false
	}
	_ = l.Close() // nobody has connected
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
