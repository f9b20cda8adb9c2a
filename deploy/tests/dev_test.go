package tests

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// The dev overlay without its cluster: Redis with the users of the component, a worker as the Deployment starts it under
// the user `worker`, a producer under `producer`, and what the scaler counts under `scaler`.
func TestTheDevFleetWorksUnderItsUsers(t *testing.T) {
	addr := startRedis(t, filepath.Join(top, "deploy/k8s/components/redis/users.acl"))
	o := render(t, "dev", "")
	class := workers(t, o)["default"]
	config := filepath.Join(t.TempDir(), "worker.yaml")
	placeConfig(t, configOf(t, o), config)
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", "./cmd/worker", "./cmd/enqueue")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}

	worker := exec.CommandContext(t.Context(), filepath.Join(programs, "worker"), "run", "--config", config)
	worker.Env = append(class.Spec.Template.Spec.Containers[0].plainEnv(),
		"FOURFOLD_REDIS=redis://worker:dev-worker@"+addr+"/0", "FOURFOLD_HEALTH_ADDR=127.0.0.1:0", "FOURFOLD_STATSD="+deafAgent(t))
	log := &lockedBuffer{}
	worker.Stderr = log
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceValue(worker.Wait)
	t.Cleanup(func() {
		_ = worker.Process.Kill() // an error: it has ended
		_ = ended()
		if t.Failed() {
			t.Logf("the worker said:\n%s", log)
		}
	})

	for _, example := range []string{"hello", "fan-in", "for-each"} {
		status := enqueue(t, programs, addr, "run", "examples/"+example+"/flow.yaml", "--input", "examples/"+example+"/input.json", "--wait", "--json")
		if status.State != "done" || status.Outcome != "OK" {
			t.Errorf("%s: state %s, outcome %s", example, status.State, status.Outcome)
		}
	}
	awaitNothingOpen(t, o, addr)

	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := ended(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if strings.Contains(log.String(), "NOPERM") {
		t.Error("Redis refused the worker something")
	}

	// Without a worker the work stays, and the scaler sees it: else nobody would ever be started for it.
	enqueue(t, programs, addr, "run", "examples/hello/flow.yaml", "--input", "examples/hello/input.json", "--json")
	if counted := countOpen(t, o, addr); counted != 1 {
		t.Errorf("one run waits for a worker, the scaler counts %d", counted)
	}
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

type runStatus struct {
	State   string `json:"state"`
	Outcome string `json:"outcome"`
}

func enqueue(t *testing.T, programs, addr string, args ...string) runStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "enqueue"), args...)
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "FOURFOLD_REDIS=redis://producer:dev-producer@"+addr+"/0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("enqueue %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	var status runStatus
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("enqueue %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return status
}

// countOpen adds up what KEDA's triggers of the default class count, by KEDA's own script.
func countOpen(t *testing.T, o overlay, addr string) int {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Username: "scaler", Password: "dev-scaler"})
	defer client.Close()
	sum := 0
	for _, tr := range of[scaledObject](t, o, "ScaledObject")["fourfold-worker-default"].Spec.Triggers {
		const script = `local kind = redis.call('type', KEYS[1]).ok
			if kind == 'zset' then return redis.call('zcard', KEYS[1]) end
			return redis.call('llen', KEYS[1])`
		n, err := client.Eval(t.Context(), script, []string{tr.Metadata["listName"]}).Int()
		if err != nil {
			t.Fatalf("%s: %v", tr.Metadata["listName"], err)
		}
		sum += n
	}
	return sum
}

// awaitNothingOpen waits until the scaler counts nothing: a run is done a moment before its last task is acknowledged.
func awaitNothingOpen(t *testing.T, o overlay, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		counted := countOpen(t, o, addr)
		if counted == 0 {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("the scaler still counts %d open tasks after the last run", counted)
		}
	}
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
