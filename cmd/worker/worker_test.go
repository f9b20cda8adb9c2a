package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/telemetry"
)

var update = flag.Bool("update", false, "write golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// command runs the program within the test.
func command(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return status, stdout.String(), stderr.String()
}

func TestTheHelpOfEachCommand(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var all strings.Builder
	for _, word := range []string{"", "run", "demo", "check", "version"} {
		args := strings.Fields(word + " --help")
		status, out, _ := command(t, args...)
		if status != 0 {
			t.Errorf("%v: status %d", args, status)
		}
		all.WriteString("$ worker " + strings.Join(args, " ") + "\n" + out + "\n")
	}
	golden(t, "help.txt", all.String())
}

func TestTheDemoRefusesARedisThatIsNotItsOwn(t *testing.T) {
	t.Setenv("FOURFOLD_REDIS", "redis://127.0.0.1:1")
	status, out, errs := command(t, "demo")
	if status != 1 || out != "" || !strings.Contains(errs, "a Redis of its own") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

func TestTheContainersMemoryIsRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"version 2", map[string]string{"memory.max": "536870912\n"}, 536870912},
		{"version 2 without a limit", map[string]string{"memory.max": "max\n"}, 0},
		{"version 1", map[string]string{"memory/memory.limit_in_bytes": "1000000\n"}, 1000000},
		{"version 1 without a limit", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"no container", nil, 0},
	} {
		fsys := fstest.MapFS{}
		for name, text := range c.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, ok := containerMemory(fsys)
		if got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: %d, %v", c.name, got, ok)
		}
	}
}

// node answers as a Redis with this INFO would.
type node struct {
	info string
	ping error
	deny error
}

// Ping answers.
func (n node) Ping(ctx context.Context) *redis.StatusCmd {
	cmd := redis.NewStatusCmd(ctx)
	cmd.SetErr(n.ping)
	return cmd
}

// Info answers.
func (n node) Info(ctx context.Context, _ ...string) *redis.StringCmd {
	cmd := redis.NewStringCmd(ctx)
	cmd.SetVal(n.info)
	cmd.SetErr(n.deny)
	return cmd
}

func TestRedisIsJudgedByWhatItSays(t *testing.T) {
	const good6 = "redis_version:6.2.0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
	for _, c := range []struct {
		name string
		node node
		want []verdict
	}{
		{"as it should be", node{info: good6}, []verdict{good, good, good}},
		{"newer", node{info: strings.Replace(good6, "6.2.0", "8.0.1", 1)}, []verdict{good, good, good}},
		{"too old", node{info: strings.Replace(good6, "6.2.0", "6.0.16", 1)}, []verdict{bad, good, good}},
		{"evicting", node{info: strings.Replace(good6, "noeviction", "volatile-lru", 1)}, []verdict{good, bad, good}},
		{"without persistence", node{info: strings.Replace(good6, "aof_enabled:1", "aof_enabled:0", 1)}, []verdict{good, good, warning}},
		{"silent about itself", node{info: "x:y\r\n"}, []verdict{warning, warning, warning}},
		{"INFO not allowed", node{deny: errors.New("NOPERM")}, []verdict{good, warning}},
		{"not there", node{ping: errors.New("refused")}, []verdict{bad}},
	} {
		var got []verdict
		for _, f := range checkNode(t.Context(), c.node, "place") {
			got = append(got, f.Verdict)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTimesMustFitEachOther(t *testing.T) {
	slow := &flow.Flow{Name: "f", Steps: []*flow.Step{{ID: executor.MustStepID("slow"), Budget: executor.Budget{Total: time.Minute}}}}
	for _, c := range []struct {
		drain, grace time.Duration
		flows        []*flow.Flow
		want         []verdict
	}{
		{25 * time.Second, 0, nil, nil},
		{25 * time.Second, 30 * time.Second, nil, []verdict{good}},
		{25 * time.Second, 29 * time.Second, nil, []verdict{bad}},
		{25 * time.Second, 0, []*flow.Flow{slow}, []verdict{warning}},
		{65 * time.Second, 90 * time.Second, []*flow.Flow{slow}, []verdict{good}},
	} {
		var got []verdict
		for _, f := range checkTimes(&config.File{Drain: config.Duration(c.drain)}, c.grace, c.flows) {
			got = append(got, f.Verdict)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("drain %s, grace %s (-want +got):\n%s", c.drain, c.grace, diff)
		}
	}
}

func TestAHealthAddressThatIsTakenIsAWarningThatSaysWhatToSet(t *testing.T) {
	var cfg net.ListenConfig
	other, err := cfg.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var out bytes.Buffer
	log, err := telemetry.NewLogger(&out, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	if stop := serveHealth(t.Context(), other.Addr().String(), telemetry.NewHealth(nil), log); stop != nil {
		stop()
		t.Error("it is served")
	}
	log.Close()
	for _, part := range []string{`"level":"warn"`, "set --health-addr or health_addr", other.Addr().String()} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %s in %s", part, out.String())
		}
	}
}

func TestCheckCountsInWords(t *testing.T) {
	_, out, _ := command(t, "check", "--config", "../../examples/simulated.yaml", "--redis", "redis://127.0.0.1:1")
	if !strings.Contains(out, "1 provider, 1 chain, 1 queue\n") {
		t.Errorf("%s", out)
	}
}
