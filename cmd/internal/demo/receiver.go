package demo

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// lastWord is a datagram that the receiver sends to itself: what was sent before it has arrived when it has.
const lastWord = "demo.end"

// receiver is a DogStatsD receiver on loopback. It keeps the lines it gets.
type receiver struct {
	conn  net.PacketConn
	mu    sync.Mutex
	lines []string
	ended chan struct{}
}

func listen(ctx context.Context) (*receiver, error) {
	var cfg net.ListenConfig
	conn, err := cfg.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("receiver for metrics: %w", err)
	}
	if udp, ok := conn.(*net.UDPConn); ok {
		_ = udp.SetReadBuffer(4 << 20) // best effort: a full buffer loses lines
	}
	r := &receiver{conn: conn, ended: make(chan struct{})}
	go r.read()
	return r, nil
}

func (r *receiver) addr() string { return r.conn.LocalAddr().String() }

func (r *receiver) read() {
	defer close(r.ended)
	buffer := make([]byte, 1<<16)
	for {
		n, _, err := r.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		text := string(buffer[:n])
		if text == lastWord {
			return
		}
		r.mu.Lock()
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				r.lines = append(r.lines, line)
			}
		}
		r.mu.Unlock()
	}
}

// all returns every line that was sent before this call. The receiver is then closed.
func (r *receiver) all(ctx context.Context) []string {
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "udp", r.addr()); err == nil {
		_, _ = conn.Write([]byte(lastWord))
		_ = conn.Close()
		select {
		case <-r.ended:
		case <-time.After(time.Second): // the datagram itself was lost
		}
	}
	_ = r.conn.Close()
	<-r.ended
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// metricName is the name that a line of DogStatsD begins with.
func metricName(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

// fewValues shortens a line that packs more than three values.
func fewValues(line string) string {
	packed, rest, _ := strings.Cut(line, "|")
	if parts := strings.Split(packed, ":"); len(parts) > 4 {
		packed = strings.Join(parts[:4], ":") + ":…"
	}
	return packed + "|" + rest
}

// oneOfEach returns the first line of each metric, sorted by name.
func oneOfEach(lines []string) []string {
	seen := map[string]bool{}
	var first []string
	for _, line := range lines {
		if name := metricName(line); !seen[name] {
			seen[name] = true
			first = append(first, line)
		}
	}
	slices.SortFunc(first, func(a, b string) int { return strings.Compare(metricName(a), metricName(b)) })
	return first
}
