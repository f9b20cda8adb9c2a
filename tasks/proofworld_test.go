package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

// The proof plays whole runs on an embedded Redis with a clock of its own and a queue that loses, repeats and reorders,
// and lets the process die, or stall, at one Redis command after the other. However it is played, the run must end as
// the pure evaluation says, and nothing may be paid for twice but the answer that died with its worker.

// world is one run and what surrounds it.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	redis *miniredis.Miniredis
	now   time.Time
	queue *lossyQueue
	fault *fault
	graph []runstate.Node
	own   []oracle.Own
	items map[int]int // for_each steps → how many items
	flow  *flow.Bundle
	blind bool // nobody sees that the queue has lost a ring

	mu    sync.Mutex
	calls map[string]int
}

func newWorld(t *testing.T, seed uint64, lossy bool) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	w := &world{t: t, rng: rng, redis: miniredis.RunT(t), now: time.UnixMilli(1_800_000_000_000), fault: &fault{death: make(chan struct{})}, calls: map[string]int{}}
	w.queue = &lossyQueue{rng: rng, lossy: lossy, rings: map[string]doorbell.Ring{}}
	w.graph = oracle.RandomGraph(rng, 6)
	w.own = oracle.RandomOwn(rng, len(w.graph))
	for i := range w.own { // what the stub can bring about
		if w.own[i].Outcome >= executor.OutcomeDegraded {
			w.own[i].Cause = runstate.CauseUpstream5xx
		}
	}
	w.items = map[int]int{}
	for i := range w.own {
		if rng.IntN(3) == 0 {
			w.items[i] = 1 + rng.IntN(3)
		}
	}
	w.flow = bundleOf(t, w.graph, w.own, w.items)
	w.redis.SetTime(w.now)
	plain := redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	defer func() { _ = plain.Close() }()
	if err := errors.Join(runstate.NewStore(plain).Load(context.Background()), meeting.Load(context.Background(), plain).Err()); err != nil {
		t.Fatal(err)
	}
	return w
}

// fanWorld is a run whose first step makes three others runnable at once.
func fanWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, 1, false)
	after := []runstate.Edge{{Step: 0, Mode: 'r'}}
	w.graph = oracle.Link([]runstate.Node{{ID: "s0"}, {ID: "s1", Parents: after}, {ID: "s2", Parents: after}, {ID: "s3", Parents: after}})
	w.own = make([]oracle.Own, len(w.graph))
	for i := range w.own {
		w.own[i].Outcome = executor.OutcomeOK
	}
	w.items = nil
	w.flow = bundleOf(t, w.graph, w.own, w.items)
	return w
}

// bundleOf writes the graph as a flow whose steps end as own says; those with items do it once for each.
func bundleOf(t *testing.T, graph []runstate.Node, own []oracle.Own, items map[int]int) *flow.Bundle {
	t.Helper()
	var b strings.Builder
	b.WriteString("flow: proof\nsteps:\n")
	for i, node := range graph {
		fmt.Fprintf(&b, "  - id: %s\n    prompt: p.tmpl\n    chain: default\n    budget: {attempts: 1, per_attempt: 1m, total: 1m}\n", node.ID)
		n, each := items[i]
		switch {
		case own[i].Outcome == executor.OutcomeAbstained:
			b.WriteString("    abstain: {on: 'true', to: '[]'}\n")
		case each && own[i].Outcome == executor.OutcomeDegraded:
			b.WriteString("    on_item_failure: degrade\n")
		case own[i].Outcome == executor.OutcomeDegraded:
			b.WriteString("    degrade_to: '\"less\"'\n")
		}
		if each {
			fmt.Fprintf(&b, "    for_each: '1..%d'\n    max_in_flight: 2\n", n)
		}
		if len(node.Parents) > 0 {
			b.WriteString("    needs:\n")
			for _, p := range node.Parents {
				mode := map[byte]string{'r': "require", 'o': "optional", 'a': "always"}[p.Mode]
				fmt.Fprintf(&b, "      - {step: %s, mode: %s}\n", graph[p.Step].ID, mode)
			}
		}
	}
	bundle, err := flow.Load(fstest.MapFS{"f.yaml": {Data: []byte(b.String())}, "p.tmpl": {Data: []byte("p")}}, "f.yaml")
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return bundle
}

func (w *world) client() *redis.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: w.redis.Addr(), MaxRetries: -1, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	rdb.AddHook(w.fault)
	return rdb // not closed: it ends with the embedded Redis, and a process that died closes nothing
}

// process is a worker as one process would have it.
func (w *world) process() *Worker {
	cfg := WorkerConfig{Redis: w.client(), Queues: map[string]int{"default": 1}, Chains: map[string]*provider.Chain{"default": provider.NewChain(w)}}
	if err := cfg.fill(); err != nil {
		w.t.Fatal(err)
	}
	p := newWorker(cfg, cfg.Redis)
	p.relay = &relay{p.store, w.queue}
	p.sweeper.live = w.queue.live
	if w.blind {
		p.sweeper.live = sees
	}
	return p
}

// world is its own provider: a step fails when its own outcome says so.
func (w *world) Name() provider.Name                 { return provider.MustName("proof") }
func (w *world) Capabilities() provider.Capabilities { return 0 }

func (w *world) Complete(_ context.Context, req provider.Request) (provider.Response, error) {
	w.mu.Lock()
	w.calls[req.Step.String()]++
	w.mu.Unlock()
	for i, node := range w.graph {
		if node.ID == req.Step.String() && w.own[i].Outcome >= executor.OutcomeDegraded {
			return provider.Response{}, provider.Judge(provider.Signal{Provider: w.Name(), Status: 503})
		}
	}
	return provider.Response{Text: content.New("fine"), Provider: w.Name()}, nil
}

func (w *world) Stream(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
	panic("never streamed")
}

// dies runs f as a process that may be struck down: it then stands still for ever, with nothing deferred or closed.
func (w *world) dies(f func()) (died bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
		return false
	case <-w.fault.death:
		return true
	}
}

func (w *world) submit() {
	run := func() error {
		rdb := w.client()
		store := runstate.NewStore(rdb)
		c := &Client{rdb: rdb, store: store, retention: time.Hour, relay: &relay{store, w.queue}, hints: newHints(rdb)}
		_, err := c.Submit(context.Background(), Submission{Bundle: w.flow, Input: content.New(json.RawMessage("1")), Key: "k"})
		return err
	}
	for {
		var err error
		if !w.dies(func() { err = run() }) {
			if err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
}

// play works until the run is done: deliveries while there are some, else time passes and the sweepers look.
func (w *world) play(sweepers int) runstate.Snapshot {
	w.t.Helper()
	ref := newRunID(DefaultQueue, "proof", "k").ref()
	plain := redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	defer func() { _ = plain.Close() }()
	p := w.process()
	for range 3000 {
		snap, ok, err := runstate.NewStore(plain).Read(context.Background(), ref)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok && snap.Finished {
			return snap
		}
		d, ok := w.queue.take()
		if w.dies(func() {
			if ok {
				deliver(p, d)
				return
			}
			w.pass(p, sweepers)
		}) {
			p = w.process()
			if ok && w.blind { // the queue delivers again what was not answered
				_ = w.queue.Ring(context.Background(), doorbell.Ring{Queue: d.Queue, ID: d.ID, Payload: d.Payload})
			}
		}
	}
	w.t.Fatalf("the run never ended (struck at command %d, %s)", w.fault.at, w.fault.hit)
	return runstate.Snapshot{}
}

// deliver hands a delivery to a worker and returns when all that came of it is over.
func deliver(p *Worker, d doorbell.Delivery) {
	d.Met, d.MetAt = meet(p, d), time.Now()
	j, _ := p.claim(context.Background(), d)
	if j == nil {
		return
	}
	over := make(chan struct{})
	j.work = p.prepare(j)
	p.workOn(doorbell.NewStint(func() { close(over) }), j)
	<-over
}

// meeting is what a taken ring meets. In the fleet it shares its script with the taking.
var meeting = redis.NewScript(runstate.MeetScript())

// meet lets most rings be met, as all are that are taken from a real queue, but for what their script does not serve.
func meet(p *Worker, d doorbell.Delivery) any {
	if crc32.ChecksumIEEE([]byte(d.ID))%4 == 0 {
		return nil
	}
	said, err := meeting.Run(context.Background(), p.scripts, nil,
		append([]any{d.Queue, d.ID}, runstate.MeetArgs(newToken(), p.cfg.Lease)...)...).Result()
	if err != nil {
		return nil
	}
	return said
}

// pass lets time go by and every sweeper look.
func (w *world) pass(p *Worker, sweepers int) {
	w.now = w.now.Add(4 * time.Second)
	w.redis.SetTime(w.now)
	w.redis.FastForward(4 * time.Second)
	for range sweepers {
		if _, err := p.sweeper.sweep(context.Background(), DefaultQueue); err != nil {
			w.t.Fatal(err)
		}
		p.sweeper.token += "x" // the next one is another worker's
		if sweepers > 1 {
			w.redis.Del("fourfold:{default}:sweeper") // and does not see the lock
		}
	}
}

// judge compares the end with the pure evaluation; extra is how many answers may have been paid for twice.
func (w *world) judge(got runstate.Snapshot, extra int) {
	w.t.Helper()
	want := oracle.Evaluate(w.graph, w.own)
	res := oracle.RunResult{Marker: got.Marker, Counts: got.Counts, Calls: want.Calls}
	for _, st := range got.Steps {
		res.Steps = append(res.Steps, oracle.StepResult{Own: oracle.Own{Outcome: st.Outcome, Cause: st.Cause}, Skipped: st.Skipped, Marker: st.Marker})
	}
	if diff := cmp.Diff(want, res); diff != "" {
		w.t.Fatalf("struck at command %d (%s): the run differs from the pure evaluation (-want +got):\n%s", w.fault.at, w.fault.hit, diff)
	}
	calls, answers := 0, 0
	for _, n := range w.calls {
		calls += n
	}
	for i, st := range want.Steps {
		if !st.Skipped && st.Outcome != executor.OutcomeAbstained {
			answers += max(1, w.items[i])
		}
	}
	if calls < answers || calls > answers+extra {
		w.t.Fatalf("struck at command %d (%s): %d calls, want %d and at most %d twice", w.fault.at, w.fault.hit, calls, answers, extra)
	}
}
