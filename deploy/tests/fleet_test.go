package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"sigs.k8s.io/yaml"

	"fourfold/internal/redistest"
)

// A fleet is an overlay without its Kubernetes: workers as the Deployment of the default class starts them under the user
// `worker`, producers under `producer`, and what KEDA counts under `scaler`.
type fleet struct {
	t        *testing.T
	overlay  overlay
	programs string // folder of the built programs
	config   string // worker.yaml, which tells producers the authority of Redis, where there is one
	ca       string // that authority's file; empty: no TLS
	url      func(user string) string
	scaler   redis.UniversalClient
}

// newFleet renders an overlay; its providers are simulated.
func newFleet(t *testing.T, name string) *fleet {
	t.Helper()
	f := &fleet{t: t, overlay: render(t, name, ""), programs: t.TempDir(), config: filepath.Join(t.TempDir(), "worker.yaml")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", f.programs+"/", "./cmd/worker", "./cmd/enqueue")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	f.configure(nil)
	return f
}

// configure writes the overlay's worker.yaml with providers that are simulated and otherwise as they were, limits and chains
// included. The further keys stand above those of the overlay; script, if there is one, is what the providers do.
func (f *fleet) configure(further map[string]any, script ...string) {
	f.t.Helper()
	var config map[string]any
	if err := yaml.Unmarshal([]byte(configOf(f.t, f.overlay)), &config); err != nil {
		f.t.Fatal(err)
	}
	for _, p := range config["providers"].(map[string]any) {
		p := p.(map[string]any)
		for _, key := range []string{"model", "api_key_file", "base_url"} {
			delete(p, key)
		}
		p["kind"] = "simulated"
		if len(script) > 0 {
			file := filepath.Join(f.t.TempDir(), "script.yaml")
			writeFile(f.t, file, script[0])
			p["script"] = file
		}
	}
	for key, value := range further {
		config[key] = value
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		f.t.Fatal(err)
	}
	placeConfig(f.t, string(text), f.config)
	if f.ca != "" {
		f.trust(f.ca)
	}
}

// trust puts the authority of Redis where the Secret fourfold-redis-ca would be mounted.
func (f *fleet) trust(caFile string) {
	f.t.Helper()
	f.ca = caFile
	var config struct {
		Redis struct {
			TLS struct {
				CAFile string `json:"ca_file"`
			} `json:"tls"`
		} `json:"redis"`
	}
	text, err := os.ReadFile(f.config)
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil || config.Redis.TLS.CAFile == "" {
		f.t.Fatalf("%s names no authority of Redis: %v", f.overlay.name, err)
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		f.t.Fatal(err)
	}
	writeFile(f.t, config.Redis.TLS.CAFile, string(ca))
}

// on says which Redis it is.
func (f *fleet) on(s *redistest.Server) {
	scheme := "redis"
	if s.Options().TLSConfig != nil {
		scheme = "rediss"
		f.trust(s.CAFile())
	}
	f.url = func(user string) string { return fmt.Sprintf("%s://%[2]s:dev-%[2]s@%[3]s/0", scheme, user, s.Addr) }
	f.scaler = s.As(f.t, "scaler", "dev-scaler")
}

// onCluster says which cluster it is, by TLS.
func (f *fleet) onCluster(c *redistest.Cluster) {
	f.trust(c.CAFile())
	addrs := c.Addrs()
	f.url = func(user string) string {
		return fmt.Sprintf("rediss://%[1]s:dev-%[1]s@%[2]s?addr=%[3]s", user, addrs[0], strings.Join(addrs[1:], "&addr="))
	}
	f.scaler = c.As(f.t, "scaler", "dev-scaler")
}

// A process is one pod's worker.
type process struct {
	cmd   *exec.Cmd
	log   *lockedBuffer
	ended func() error
}

// start starts a worker that ends with the test.
func (f *fleet) start() *process {
	f.t.Helper()
	p := &process{cmd: f.command("worker", "run"), log: &lockedBuffer{}}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	p.ended = sync.OnceValue(p.cmd.Wait)
	f.t.Cleanup(func() {
		p.kill()
		if f.t.Failed() {
			f.t.Logf("the worker said:\n%s", p.log)
		}
	})
	return p
}

// command is a program in a pod of the default class.
func (f *fleet) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.t.Context(), filepath.Join(f.programs, program), append(args, "--config", f.config)...)
	cmd.Env = append(workers(f.t, f.overlay)["default"].Spec.Template.Spec.Containers[0].plainEnv(),
		"FOURFOLD_REDIS="+f.url("worker"), "FOURFOLD_HEALTH_ADDR=127.0.0.1:0", "FOURFOLD_STATSD="+deafAgent(f.t))
	return cmd
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error: it has ended
	_ = p.ended()
}

// stop ends the worker as a scale-down does.
func (f *fleet) stop(p *process) {
	f.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	if err := p.ended(); err != nil {
		f.t.Errorf("SIGTERM: %v", err)
	}
}

type runStatus struct {
	Run     string `json:"run"`
	State   string `json:"state"`
	Outcome string `json:"outcome"`
}

func (f *fleet) enqueue(args ...string) runStatus {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Minute)
	defer cancel()
	args = append(args, "--json")
	if f.ca != "" {
		args = append(args, "--config", f.config)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(f.programs, "enqueue"), args...)
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "FOURFOLD_REDIS="+f.url("producer"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("enqueue %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	var status runStatus
	if err := json.Unmarshal(out, &status); err != nil {
		f.t.Fatalf("enqueue %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return status
}

// counted is what KEDA's triggers of the default class count, by KEDA's own script.
func (f *fleet) counted() map[string]int {
	f.t.Helper()
	script, err := os.ReadFile("schemas/keda-redis.lua")
	if err != nil {
		f.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, tr := range of[scaledObject](f.t, f.overlay, "ScaledObject")["fourfold-worker-default"].Spec.Triggers {
		n, err := f.scaler.Eval(f.t.Context(), string(script), []string{tr.Metadata["listName"]}).Int()
		if err != nil {
			f.t.Fatalf("%s: %v", tr.Metadata["listName"], err)
		}
		counts[tr.Name] = n
	}
	return counts
}

// open is their sum, which the formula makes.
func (f *fleet) open() int {
	f.t.Helper()
	return sum(f.counted())
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// await waits until what the scaler counts is as wanted. A step on its way from one list to the next is in both for a moment:
// a run is done before its last task is acknowledged, a step is claimed before asynq forgets its task. And the lists are counted
// one after the other, as KEDA does, so a step that moves may be in none: only what is counted twice in a row is so.
func (f *fleet) await(what string, so func(map[string]int) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		counts := f.counted()
		if so(counts) && so(f.counted()) {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			f.t.Fatalf("%s: the scaler still counts %v", what, counts)
		}
	}
}

// awaitOnly waits until one of the triggers counts n, and the others nothing.
func (f *fleet) awaitOnly(what, trigger string, n int) {
	f.t.Helper()
	f.await(what, func(counts map[string]int) bool { return counts[trigger] == n && sum(counts) == n })
}

// awaitNothingOpen waits for the end of runs that are done: steps of others move from list to list.
func (f *fleet) awaitNothingOpen() {
	f.t.Helper()
	f.await("after the last run", func(counts map[string]int) bool { return sum(counts) == 0 })
}

// deafAgent is an address where DogStatsD could listen; what comes is not read.
func deafAgent(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().String()
}

// plainEnv is the container's environment, as far as it is written out. The node is this machine.
func (c container) plainEnv() []string {
	var env []string
	for _, e := range c.Env {
		if e.Value != "" {
			env = append(env, e.Name+"="+strings.ReplaceAll(e.Value, "$(NODE_IP)", "127.0.0.1"))
		}
	}
	return env
}

// lockedBuffer may be read while a process writes to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
