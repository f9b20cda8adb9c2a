package tasks_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/tasks"
	"fourfold/telemetry"
)

// lossy is a connection that breaks in place of some answers: Redis has done what it was told, and nobody hears of it.
type lossy struct {
	net.Conn
	lose func(sent []byte) bool // whether the answer to this is lost

	mu     sync.Mutex
	losing bool
}

func (c *lossy) Write(b []byte) (int, error) {
	if c.lose(b) {
		c.mu.Lock()
		c.losing = true
		c.mu.Unlock()
	}
	return c.Conn.Write(b)
}

func (c *lossy) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.losing {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// losing is a client over such connections.
func losing(t *testing.T, server *redistest.Server, lose func(sent []byte) bool) *redis.Client {
	t.Helper()
	options := server.Options()
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &lossy{Conn: c, lose: lose}, nil
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// marks knows the marked values that were sent.
type marks struct {
	mu   sync.Mutex
	seen []string
}

var marked = regexp.MustCompile(`\r\n(9\d{5})\r\n`)

// first says whether a marked value is sent for the first time.
func (m *marks) first(sent []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := false
	for _, found := range marked.FindAllSubmatch(sent, -1) {
		if value := string(found[1]); !slices.Contains(m.seen, value) {
			m.seen = append(m.seen, value)
			first = true
		}
	}
	return first
}

// ends tells which steps ended, and which were delivered again.
type ends struct {
	telemetry.Observer
	mu   sync.Mutex
	told []string
}

func (e *ends) tell(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, what)
}

func (e *ends) StepFinished(_ context.Context, f telemetry.StepFinished) {
	e.tell(f.Envelope.Step.String())
}

func (e *ends) StepDuplicate(_ context.Context, _ string, step executor.StepID) {
	e.tell(step.String() + " again")
}

// The answer to a step's record is lost, of every step but the last: the worker hears it when it asks again, and goes on. Nothing else
// would let it here, since no claim ends for an hour.
func TestALostAnswerKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	item := strings.Replace(step("each", "    needs: [one]\n    for_each: '1..2'\n    max_in_flight: 1\n"), "p.tmpl", "item.tmpl", 1)
	yaml := "flow: lost\nsteps:\n" + step("one", "") + item + step("two", "    needs: [each]\n") + step("last", "    needs: [two]\n")
	server := redistest.Start(t)
	sent := &marks{}
	f := newFleetOf(t, losing(t, server, sent.first), server.Client(t))
	e := &ends{Observer: telemetry.Discard}
	m := newModel(func(_ context.Context, step string, n int) (string, error) {
		return map[string][]string{"one": {"900001"}, "each": {"900002", "900003"}, "two": {"900004"}, "last": {"7"}}[step][n-1], nil
	})
	_, stop := f.worker(m, func(c *tasks.WorkerConfig) { c.Lease, c.Observer = time.Hour, e })
	s := f.wait(f.submit(bundle(t, yaml), `1`))
	stop()
	if s.Outcome != executor.OutcomeOK || m.total() != 5 {
		t.Errorf("%v after %d calls", s.Outcome, m.total())
	}
	if diff := cmp.Diff([]string{"900001", "900002", "900003", "900004"}, sent.seen); diff != "" {
		t.Errorf("answers that were lost (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "each", "two", "last"}, e.told); diff != "" {
		t.Errorf("steps that ended (-want +got):\n%s", diff)
	}
}

// Whatever answer is lost, to a producer or a worker: the runs end, each as it should.
func TestRunsEndOverALineThatBreaks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	sometimes := func([]byte) bool { return rand.N(50) == 0 }
	f := newFleetOf(t, losing(t, server, sometimes), losing(t, server, sometimes))
	item := strings.Replace(step("each", "    needs: [a]\n    for_each: '1..4'\n    max_in_flight: 2\n"), "p.tmpl", "item.tmpl", 1)
	b := bundle(t, "flow: breaking\nsteps:\n"+step("a", "")+item+step("b", "    needs: [a]\n")+step("c", "    needs: [a]\n")+step("d", "    needs: [b, c, each]\n"))
	m := newModel(fine)
	for range 2 {
		f.worker(m, func(c *tasks.WorkerConfig) { c.Lease, c.MaxDeliveries = 2*time.Second, 20 })
	}
	unbroken := newFleet(t, server.Client(t))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			again := tasks.Submission{Bundle: b, Input: number(i), Key: fmt.Sprint(i)} // a key makes it safe
			run, err := f.client.Submit(ctx, again)
			for err != nil && ctx.Err() == nil {
				run, err = f.client.Submit(ctx, again)
			}
			s, err := unbroken.client.Wait(ctx, run, tasks.NoValues)
			if want := (tasks.Counts{OK: 5}); err != nil || s.Outcome != executor.OutcomeOK || s.Counts != want {
				t.Errorf("%s: %v, %+v, %v", run, s.Outcome, s.Counts, err)
			}
		})
	}
	all.Wait()
	if least := 40 * 8; m.total() < least {
		t.Errorf("%d calls of %d", m.total(), least)
	}
}
