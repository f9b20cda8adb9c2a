package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fourfold/internal/openaitest"
	"fourfold/internal/redistest"
)

var programs string // folder of the built binaries

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fourfold-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	build := exec.CommandContext(context.Background(), "go", "build", "-o", dir+"/", "fourfold/cmd/worker", "fourfold/cmd/enqueue")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is what only a hang reaches.
const patience = 5 * time.Minute

// world is a Redis, a model server, and a folder with flows and configurations.
type world struct {
	t     *testing.T
	redis *redistest.Server
	model *openaitest.Server
	dir   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, redis: redistest.Start(t), model: openaitest.Start(t), dir: t.TempDir()}
}

// write puts a file into the world's folder and returns its path.
func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// config writes a worker.yaml with one provider, the model server. No time in it is one that a busy machine reaches: a call
// that is cut, or a claim that a live worker loses, would be a second call where a test counts one. A test that waits for
// the end of such a time sets it itself.
func (w *world) config(more string) string {
	w.t.Helper()
	return w.write("worker.yaml", fmt.Sprintf(`
redis: {url: %q}
health_addr: ""
statsd: {addr: ""}
providers:
  primary: {kind: openai, base_url: %q, model: test-model, timeout: 60s, capabilities: [json_schema], breaker: {disabled: true}}
chains:
  default: [primary]
%s`, w.redis.URL(), w.model.URL, more))
}

// worker is a running `worker run`.
type worker struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   *lockedBuffer
	ended chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is all that was written.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a worker until the test ends.
func (w *world) start(config string, args ...string) *worker {
	w.t.Helper()
	p := &worker{t: w.t, log: &lockedBuffer{}, ended: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(programs, "worker"), append(runWith(config), args...)...)
	p.cmd.Stderr, p.cmd.Stdout = p.log, p.log
	p.cmd.Env = append(cleanEnvironment(), "REDIS_PASSWORD=s3cret")
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	w.t.Cleanup(func() {
		p.kill()
		if w.t.Failed() {
			w.t.Logf("worker %d said:\n%s", p.cmd.Process.Pid, p.log)
		}
	})
	return p
}

func (p *worker) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// terminate sends SIGTERM and returns the exit status.
func (p *worker) terminate() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	return p.exit()
}

func (p *worker) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the worker does not end:\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// result is what a command printed, and how it ended.
type result struct {
	stdout, stderr string
	status         int
}

// enqueue runs the command line against the world's Redis.
func (w *world) enqueue(args ...string) result {
	w.t.Helper()
	return w.enqueueWith("", args...)
}

func (w *world) enqueueWith(stdin string, args ...string) result {
	w.t.Helper()
	return run(w.t, stdin, []string{"FOURFOLD_REDIS=" + w.redis.URL()}, "enqueue", args...)
}

func run(t *testing.T, stdin string, env []string, program string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, program), args...)
	cmd.Env = append(cleanEnvironment(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s %v does not end:\n%s", program, args, errs.String())
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// cleanEnvironment is the environment without what would configure the programs.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"FOURFOLD_", "OPENAI_", "DD_", "OTEL_", "TRACEPARENT="}, func(p string) bool { return strings.HasPrefix(v, p) })
	})
}

// document is the public status document, as an outsider decodes it.
type document struct {
	Run     string                     `json:"run"`
	Flow    string                     `json:"flow"`
	SHA     string                     `json:"bundle_sha"`
	State   string                     `json:"state"`
	Outcome string                     `json:"outcome"`
	Marker  *marker                    `json:"marker"`
	Counts  counts                     `json:"counts"`
	Steps   []step                     `json:"steps"`
	Values  map[string]json.RawMessage `json:"values"`
	Line    int                        `json:"line"`
	Key     string                     `json:"key"`
	Error   string                     `json:"error"`
}

type marker struct{ Outcome, Step, Cause string }

type counts struct{ OK, Degraded, Abstained, Failed, Skipped int }

type step struct {
	Step      string  `json:"step"`
	Outcome   string  `json:"outcome"`
	Class     string  `json:"failure_class"`
	Cause     string  `json:"cause"`
	Skipped   bool    `json:"skipped"`
	Attempts  int     `json:"attempts"`
	Model     string  `json:"model_version"`
	Provider  string  `json:"provider"`
	ErrorKind string  `json:"error_kind"`
	Reason    string  `json:"reason"`
	Usage     *usage  `json:"token_usage"`
	Marker    *marker `json:"marker"`
}

type usage struct{ Input, Output int }

// decode reads the one document that a command printed.
func (r result) decode(t *testing.T) document {
	t.Helper()
	docs := r.decodeLines(t)
	if len(docs) != 1 {
		t.Fatalf("standard output has %d lines; want one document:\n%s\nstderr: %s", len(docs), r.stdout, r.stderr)
	}
	return docs[0]
}

func (r result) decodeLines(t *testing.T) []document {
	t.Helper()
	var docs []document
	for line := range strings.Lines(r.stdout) {
		var d document
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v in %q\nstderr: %s", err, line, r.stderr)
		}
		docs = append(docs, d)
	}
	return docs
}

// step returns one step of a document.
func (d document) step(t *testing.T, id string) step {
	t.Helper()
	for _, s := range d.Steps {
		if s.Step == id {
			return s
		}
	}
	t.Fatalf("the document has no step %s: %+v", id, d)
	return step{}
}

// runs runs `enqueue run` with --wait and --json.
func (w *world) run(flow, input string, more ...string) result {
	w.t.Helper()
	args := append([]string{"run", flow, "--input", "-", "--wait", "--json"}, more...)
	return w.enqueueWith(input, args...)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func runWith(config string) []string {
	if config == "" {
		return []string{"run"}
	}
	return []string{"run", "--config", config}
}
