package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fourfold/internal/openaitest"
)

const root = "../.."

// Every example flow ends well on the simulated worker, with the commands that examples/README.md shows.
func TestTheExamplesRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(filepath.Join(root, "examples/simulated.yaml"), "--redis", w.redis.URL(), "--health-addr=", "--statsd=")
	for _, c := range []struct{ flow, input, sink string }{
		{"hello/flow.yaml", read(t, filepath.Join(root, "examples/hello/input.json")), "greet"},
		{"fan-in/flow.yaml", read(t, filepath.Join(root, "examples/fan-in/input.json")), "record"},
		{"for-each/flow.yaml", read(t, filepath.Join(root, "examples/for-each/input.json")), "catalogue"},
		{"document-intake/flow.yaml", strings.SplitN(read(t, filepath.Join(root, "examples/document-intake/documents.jsonl")), "\n", 2)[0], "summarise"},
	} {
		flow := filepath.Join(root, "examples", c.flow)
		r := w.run(flow, c.input)
		d := r.decode(t)
		if r.status != 0 || d.Outcome != "OK" || len(d.Values[c.sink]) == 0 {
			t.Errorf("%s: status %d, %s%s", c.flow, r.status, r.stdout, r.stderr)
		}
		check := w.enqueue("check", flow, "--config", filepath.Join(root, "examples/simulated.yaml"))
		if check.status != 0 {
			t.Errorf("%s: %s", c.flow, check.stderr)
		}
	}
}

func TestTheExampleConfigurationIsGood(t *testing.T) {
	t.Parallel()
	r := run(t, "", nil, "worker", "run", "--config", filepath.Join(root, "examples/worker.yaml"), "--print-config")
	if r.status != 0 || !strings.Contains(r.stdout, "default: 3") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// What a newcomer copies out of README.md works: the flow of one's own is written, checked and run as the text has it.
func TestTheFlowInTheReadmeWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("Sort this message", openaitest.Text(`{"kind": "question"}`))
	if err := os.Symlink(programs, filepath.Join(w.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	var own, service string
	for _, block := range shellBlock.FindAllStringSubmatch(read(t, filepath.Join(root, "README.md")), -1) {
		switch {
		case strings.Contains(block[1], "first/flow.yaml <<"):
			own = strings.Replace(block[1], "make build\n", "", 1)
		case strings.Contains(block[1], "bin/enqueue run first/flow.yaml"):
			service = block[1]
		}
	}
	if own == "" || service == "" {
		t.Fatal("README.md no longer shows a flow of one's own and how it is run")
	}
	out, status := w.shell(own)
	if status != 0 || !strings.Contains(out, "flow sort-mail is good") {
		t.Fatalf("status %d\n%s", status, out)
	}
	w.start("", "--redis", w.redis.URL(), "--base-url", w.model.URL, "--health-addr=", "--statsd=")
	var submit string
	for line := range strings.Lines(service) {
		if strings.Contains(line, "bin/enqueue run first/flow.yaml") {
			submit = line
		}
	}
	out, status = w.shell(submit)
	if status != 0 || !strings.Contains(out, "outcome  OK") || !strings.Contains(out, `"kind": "question"`) {
		t.Errorf("status %d\n%s", status, out)
	}
}

// shell runs a script in the world's folder.
func (w *world) shell(script string) (output string, status int) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = w.dir
	cmd.Env = append(cleanEnvironment(), "FOURFOLD_REDIS="+w.redis.URL())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}
