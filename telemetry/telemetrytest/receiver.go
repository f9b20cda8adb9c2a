package telemetrytest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Receiver takes DogStatsD datagrams and reads them strictly.
type Receiver struct {
	conn net.PacketConn
	addr string
	done chan struct{}

	mu      sync.Mutex
	lines   []Line
	refused []error
	changed chan struct{} // closed and replaced when lines came; nil: nobody waits
}

// ListenUDP returns a Receiver on a free loopback port.
func ListenUDP() (*Receiver, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return receive(conn, conn.LocalAddr().String()), nil
}

// ListenUnix returns a Receiver on a datagram socket at the path, which must not exist.
func ListenUnix(path string) (*Receiver, error) {
	conn, err := net.ListenPacket("unixgram", path)
	if err != nil {
		return nil, err
	}
	return receive(conn, "unix://"+path), nil
}

func receive(conn net.PacketConn, addr string) *Receiver {
	if c, ok := conn.(interface{ SetReadBuffer(int) error }); ok {
		_ = c.SetReadBuffer(4 << 20) // as much as the kernel grants: a burst must not be lost
	}
	r := &Receiver{conn: conn, addr: addr, done: make(chan struct{})}
	go r.run()
	return r
}

func (r *Receiver) run() {
	defer close(r.done)
	packet := make([]byte, 64<<10)
	for {
		n, _, err := r.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		r.take(string(packet[:n]))
	}
}

func (r *Receiver) take(packet string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	whole, ok := strings.CutSuffix(packet, "\n")
	if !ok {
		r.refused = append(r.refused, fmt.Errorf("packet without an end of line: %q", packet))
		return
	}
	for text := range strings.SplitSeq(whole, "\n") {
		line, err := ParseLine(text)
		if err != nil {
			r.refused = append(r.refused, err)
			continue
		}
		r.lines = append(r.lines, line)
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Addr is the address for a worker's configuration.
func (r *Receiver) Addr() string { return r.addr }

// Lines returns what came so far, and what was refused.
func (r *Receiver) Lines() (lines []Line, refused []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Line(nil), r.lines...), append([]error(nil), r.refused...)
}

// Wait returns the lines as soon as done says that they suffice, or the context's error.
func (r *Receiver) Wait(ctx context.Context, done func([]Line) bool) ([]Line, error) {
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		lines, changed := append([]Line(nil), r.lines...), r.changed
		r.mu.Unlock()
		if done(lines) {
			return lines, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return lines, ctx.Err()
		}
	}
}

// Close stops receiving.
func (r *Receiver) Close() {
	_ = r.conn.Close()
	<-r.done
}

// Sum adds up the values of the lines of a metric that have all the tags.
func Sum(lines []Line, name string, tags ...string) float64 {
	sum := 0.0
	for _, l := range matching(lines, name, tags) {
		for _, v := range l.Values {
			sum += v
		}
	}
	return sum
}

// Samples counts the values of the lines of a metric that have all the tags.
func Samples(lines []Line, name string, tags ...string) int {
	n := 0
	for _, l := range matching(lines, name, tags) {
		n += len(l.Values)
	}
	return n
}

func matching(lines []Line, name string, tags []string) []Line {
	var found []Line
	for _, l := range lines {
		if l.Name != name {
			continue
		}
		has := 0
		for _, want := range tags {
			key, value, _ := strings.Cut(want, ":")
			if l.Tag(key) == value {
				has++
			}
		}
		if has == len(tags) {
			found = append(found, l)
		}
	}
	return found
}
