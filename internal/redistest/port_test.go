package redistest

import (
	"context"
	"net"
	"testing"
)

// Two tests that are given the same port would both talk to the server that was faster, until its test ends.
func TestAServerOfAnotherTestIsNotTakenForOnesOwn(t *testing.T) {
	theirs := Start(t)
	ours := &Server{tb: t, Addr: theirs.Addr, port: theirs.port, config: config{dir: newDir(t)}}
	if err := ours.launch(); err == nil {
		t.Error("a server that cannot listen is said to answer")
	}
}

// While a server is killed, nobody may be given its port, by another process either.
func TestThePortOfAKilledServerIsKeptForIt(t *testing.T) {
	s := Start(t)
	s.Kill()
	if s.port < firstPort || s.port >= firstPort+ports {
		t.Errorf("port %d is one that any connection may be given", s.port)
	}
	if again, err := new(net.ListenConfig).ListenPacket(context.Background(), "udp", loopback(s.port)); err == nil {
		again.Close()
		t.Error("the port can be held twice")
	}
	s.Restart()
}
