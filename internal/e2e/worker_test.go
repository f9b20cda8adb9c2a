package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"fourfold/internal/openaitest"
	"fourfold/internal/redistest"
)

func TestWorkerCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("Answer with the word", openaitest.Text("ready"))
	config := w.config("")
	good := run(t, "", nil, "worker", "check", "--config", config, "--probe", "--json")
	var report struct {
		OK     bool
		Checks []struct{ Check, Verdict, Text string }
	}
	if err := json.Unmarshal([]byte(good.stdout), &report); err != nil || good.status != 0 || !report.OK {
		t.Fatalf("status %d, %v\n%s%s", good.status, err, good.stdout, good.stderr)
	}
	if w.model.Calls("Answer with the word") != 1 {
		t.Errorf("--probe made %d calls", w.model.Calls("Answer with the word"))
	}
	evicting := redistest.Start(t, redistest.Args("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"))
	narrow := redistest.Start(t, redistest.ACLUser("narrow", "s3cret", "~fourfold:*", "&fourfold:*", "+@all"))
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"eviction", []string{"--redis", evicting.URL()}, "allkeys-lru"},
		{"rights", []string{"--redis", narrow.URL()}, "may not run scripts that write asynq:*, nor publish on asynq:*"},
		{"no Redis", []string{"--redis", "redis://127.0.0.1:1"}, "no answer from redis://127.0.0.1:1"},
		{"grace too short", []string{"--grace", "20s"}, "do not fit the grace period of 20s"},
		{"flow that fits no chain", []string{"--flow", w.promptFlow("needs", "  - {id: only, prompt: only.tmpl, requires: [vision], "+quick+"}\n", "only")}, "vision"},
	} {
		r := run(t, "", nil, "worker", append([]string{"check", "--config", config}, c.args...)...)
		if r.status != 1 || !strings.Contains(r.stdout, c.says) {
			t.Errorf("%s: status %d\n%s%s", c.name, r.status, r.stdout, r.stderr)
		}
	}
	keyless := w.write("keyless.yaml", strings.Replace(read(t, config), "model: test-model", "model: test-model, api_key_env: NO_SUCH_KEY", 1))
	if r := run(t, "", nil, "worker", "check", "--config", keyless); r.status != 1 || !strings.Contains(r.stdout, "the environment has no NO_SUCH_KEY") {
		t.Errorf("no key: status %d\n%s", r.status, r.stdout)
	}
	w.model.On("Answer with the word", openaitest.Status(401))
	if r := run(t, "", nil, "worker", "check", "--config", config, "--probe"); r.status != 1 || !strings.Contains(r.stdout, "primary: auth, status 401") {
		t.Errorf("refused key: status %d\n%s", r.status, r.stdout)
	}
}

func TestConfigurationProblemsStopTheWorkerAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.write("bad.yaml", "concurency: 3\nproviders:\n  primary: {kind: openapi, model: m}\nchains:\n  default: [primry]\n")
	r := run(t, "", nil, "worker", "run", "--config", config)
	for _, want := range []string{
		`bad.yaml:1:1: concurency: unknown key; did you mean "concurrency"?`,
		`bad.yaml:3:13: providers.primary.kind: must be one of openai, anthropic, gemini, simulated; did you mean "openai"?`,
		`bad.yaml:5:13: chains.default[0]: no provider of this name; did you mean "primary"?`,
	} {
		if r.status != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("status %d, want %q in:\n%s", r.status, want, r.stderr)
		}
	}
	if none := run(t, "", nil, "worker"); none.status != 1 || !strings.Contains(none.stderr, "no providers") {
		t.Errorf("nothing configured: status %d\n%s", none.status, none.stderr)
	}
}

func TestPrintConfigShowsNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.write("worker.yaml", `
redis: {url: "redis://bob:hunter2@127.0.0.1:6379/3"}
providers:
  primary: {kind: openai, model: m, api_key_env: KEY, headers: {X-Token: hunter2}, query: {token: hunter2}}
`)
	r := run(t, "", []string{"KEY=hunter2", "FOURFOLD_CONCURRENCY=7"}, "worker", "run", "--config", config, "--print-config")
	if r.status != 0 || strings.Contains(r.stdout, "hunter2") || !strings.Contains(r.stdout, "concurrency: 7\n") || !strings.Contains(r.stdout, "bob:redacted@") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// One provider from the environment is enough to begin with.
func TestAWorkerWithoutAFileTakesItsProviderFromTheEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<only>", openaitest.Text("only"))
	p := w.start("", "--redis", w.redis.URL(), "--base-url", w.model.URL, "--model", "mine", "--health-addr=", "--statsd=")
	if r := w.run(w.promptFlow("only", onlyStep, "only"), `{}`); r.status != 0 {
		t.Errorf("status %d: %s%s\n%s", r.status, r.stdout, r.stderr, p.log)
	}
	if calls := w.model.Record("<only>"); len(calls) != 1 || calls[0].Model != "mine" {
		t.Errorf("calls %+v", calls)
	}
}

func TestHealthEndpointsFollowTheWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hang := make(chan struct{})
	w.model.On("<only>", openaitest.After(hang, openaitest.Text("only")))
	p := w.start(w.config("drain: 50s\n"), "--health-addr", "127.0.0.1:0")
	awaitLog(t, p, "health endpoints are served")
	addr := regexp.MustCompile(`"addr":"([0-9.:]+)"`).FindStringSubmatch(p.log.String())[1]
	awaitStatus(t, addr, "/readyz", http.StatusOK)
	awaitStatus(t, addr, "/healthz", http.StatusOK)
	w.redis.Pause()
	awaitStatus(t, addr, "/readyz", http.StatusServiceUnavailable)
	awaitStatus(t, addr, "/healthz", http.StatusOK)
	w.redis.Cont()
	awaitStatus(t, addr, "/readyz", http.StatusOK)
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 1, per_attempt: 50s, total: 50s}}\n", "only")
	w.enqueueWith(`{}`, "run", flow, "--input", "-")
	w.model.Await("<only>", 1)
	ended := make(chan int, 1)
	go func() { ended <- p.terminate() }()
	awaitStatus(t, addr, "/readyz", http.StatusServiceUnavailable) // draining, and alive
	awaitStatus(t, addr, "/healthz", http.StatusOK)
	close(hang)
	if status := <-ended; status != 0 {
		t.Errorf("exit status %d", status)
	}
}

func awaitStatus(t *testing.T, addr, path string, want int) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s%s", addr, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == want {
				return
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s never answers %d", path, want)
		}
	}
}
