package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
	"fourfold/bench/anchors/internal/plot"
	"fourfold/internal/redistest"
)

// session is one run of the program.
type session struct {
	options
	ctx     context.Context //nolint:containedctx // the run's own, for all of it
	root    string          // the repository
	sink    *net.UDPConn    // takes metrics and throws them away
	figures figures
	charts  []namedChart
	took    time.Duration
	machine machine
}

type namedChart struct {
	file string
	plot.Chart
}

func newSession(ctx context.Context, o options) (*session, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	sink, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	go func() {
		for buf := make([]byte, 64<<10); ; {
			if _, _, err := sink.ReadFrom(buf); err != nil {
				return
			}
		}
	}()
	return &session{options: o, ctx: ctx, root: root, sink: sink, machine: describe(ctx)}, nil
}

func (s *session) close() { _ = s.sink.Close() } // nothing is lost with it

// repository is the folder of the product's go.mod, here or above.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module fourfold\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("run it inside the repository: no go.mod of module fourfold here or above")
		}
		dir = filepath.Dir(dir)
	}
}

// size is the first in a whole run, the second with -quick.
func size[T any](s *session, whole, quick T) T {
	if s.quick {
		return quick
	}
	return whole
}

// closely is how often a round those are measured whose wall times a goal compares: a machine's speed moves by half within
// minutes.
func (s *session) closely() int { return size(s, 5, 1) }

// withRedis runs do with a Redis of its own, and a client that may look at everything.
func withRedis(do func(addr string, rdb *redis.Client) error) error {
	var suite redistest.Suite
	defer suite.Close()
	server := redistest.Start(&suite)
	return do(server.Addr, server.Admin(&suite))
}

// spec is what worker processes have in common.
func (s *session) spec(system, addr string) job.Spec {
	return job.Spec{System: system, Redis: []string{addr}, Statsd: s.sink.LocalAddr().String(), Queues: []string{queue}, Procs: s.procs}
}

// queue is that of all work that says nothing else.
const queue = "default"

// submitters is how many goroutines submit.
const submitters = 16

// patience bounds each measurement: it ends a run that hangs, and is no expectation.
const patience = 10 * time.Minute

// submitted puts n runs into the queue.
func submitted(ctx context.Context, spec job.Spec, n int, run func(i int) job.Run) (time.Duration, error) {
	p, err := job.Systems[spec.System].Producer(spec, nil)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	return job.SubmitAll(ctx, p, n, submitters, run)
}

// same is a queue full of one kind of run.
func same(r job.Run) func(int) job.Run { return func(int) job.Run { return r } }
