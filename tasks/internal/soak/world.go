package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/internal/openaitest"
	"fourfold/internal/redistest"
	"fourfold/tasks"
)

// host stands where a test would: it ends what was started, and a soak that cannot go on panics.
type host struct {
	redistest.Suite

	mu     sync.Mutex
	errors []string
}

// Errorf keeps what is wrong for the judge.
func (h *host) Errorf(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errors = append(h.errors, fmt.Sprintf(format, args...))
}

// take returns what was wrong since the last call.
func (h *host) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	wrong := h.errors
	h.errors = nil
	return wrong
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// quiet keeps go-redis from telling of each fault.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// world is all that a soak needs.
type world struct {
	settings
	host
	rng    *rand.Rand
	dir    string
	redis  *redistest.Server
	model  *openaitest.Server
	rdb    *redis.Client
	client *tasks.Client
	fleet  []*worker
	made   int // workers so far
	runs   int // so far
}

func newWorld(seed uint64, s settings) *world {
	w := &world{settings: s, rng: rand.New(rand.NewPCG(seed, 3))} //nolint:gosec // repeatable on purpose
	dir, err := os.MkdirTemp("", "fourfold-soak")
	must(err)
	w.dir = dir
	w.build()
	w.redis = redistest.Start(&w.host, redistest.Persistent())
	w.model = openaitest.Start(&w.host)
	w.answer()
	w.rdb = redis.NewClient(w.options())
	w.client, err = tasks.NewClient(tasks.ClientConfig{Redis: w.rdb})
	must(err)
	for range w.workers {
		w.fleet = append(w.fleet, w.start())
	}
	return w
}

func (w *world) close() {
	for _, p := range w.fleet {
		p.die()
	}
	_ = w.client.Close()
	_ = w.rdb.Close()
	w.Suite.Close()
	_ = os.RemoveAll(w.dir) // the system clears what is left
}

func (w *world) options() *redis.Options {
	o := w.redis.Options()
	o.ReadTimeout, o.MaxRetries, o.MaxRetryBackoff = 2*time.Second, 10, 1500*time.Millisecond
	return o
}

func (w *world) build() {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", w.dir+"/", "fourfold/cmd/worker", "fourfold/cmd/enqueue")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
}

// answer makes the server do what a prompt asks for, sooner or later.
func (w *world) answer() {
	w.model.On("soak ", openaitest.Decide(func(c openaitest.Call) openaitest.Answer {
		a := unitOf(c)
		return openaitest.Slow(w.latency(), map[string]openaitest.Answer{
			"ok": openaitest.Text(answerOf(a.unit)), "503": openaitest.Status(503), "404": openaitest.Status(404),
		}[a.word])
	}))
}

// latency is short for most calls and long for some, so that a kill finds calls at every point.
func (w *world) latency() time.Duration {
	if rand.IntN(5) > 0 { //nolint:gosec // not even repeatable on purpose: calls come in no fixed order
		return rand.N(w.slowest / 10) //nolint:gosec // likewise
	}
	return rand.N(w.slowest) //nolint:gosec // likewise
}

// asked is what a prompt says of its call.
type asked struct{ run, unit, word, inputs string }

func unitOf(c openaitest.Call) asked {
	f := strings.Fields(c.Prompt) // soak <run> <unit> <word> and the inputs
	if len(f) < 4 {
		return asked{word: "404"}
	}
	return asked{f[1], f[2], f[3], strings.Join(f[4:], " ")}
}

// worker is one worker process; its name is the key with which it asks the model.
type worker struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
}

const workerConfig = `
redis: {url: %q}
health_addr: ""
statsd: {addr: ""}
log: {level: error}
lease: %s
drain: %s
concurrency: %d
providers:
  primary: {kind: openai, base_url: %q, model: test-model, api_key_env: SOAK_KEY, timeout: 60s, breaker: {disabled: true}}
chains:
  default: [primary]
`

func (w *world) start() *worker {
	w.made++
	p := &worker{name: fmt.Sprint("w", w.made), ended: make(chan struct{})}
	config := filepath.Join(w.dir, "worker.yaml")
	must(os.WriteFile(config, fmt.Appendf(nil, workerConfig, w.redis.URL(), w.lease, w.drain, w.concurrency, w.model.URL), 0o600))
	log, err := os.Create(filepath.Join(w.dir, p.name+".log"))
	must(err)
	defer log.Close()
	p.cmd = exec.Command(filepath.Join(w.dir, "worker"), "run", "--config", config) //nolint:noctx // ended by signals
	p.cmd.Env = []string{"SOAK_KEY=" + p.name, "PATH=" + os.Getenv("PATH")}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	must(p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // its exit status says how it ended
		close(p.ended)
	}()
	return p
}

// die kills the worker, stopped or not.
func (p *worker) die() {
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.ended
}

// enqueue submits by the command line; with kill it is killed after that time. It says whether the command succeeded.
func (w *world) enqueue(p *plan, run int, after time.Duration) bool {
	ctx := context.Background()
	if after > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, after)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, filepath.Join(w.dir, "enqueue"), "run", p.path, "--input", "-", "--key", key(run)) // killed with ctx
	cmd.Env = []string{"FOURFOLD_REDIS=" + w.redis.URL()}
	cmd.Stdin = strings.NewReader(p.input(run))
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && ctx.Err() == nil {
		w.Errorf("enqueue: %v\n%s", err, out)
	}
	return err == nil
}

func key(run int) string { return fmt.Sprint("run-", run) }
