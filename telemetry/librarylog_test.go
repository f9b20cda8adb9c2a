package telemetry_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fourfold/telemetry"
)

// printer is the method of go-redis's logger, and queueLogger those of asynq's; the packages themselves have no place here.
type (
	printer interface {
		Printf(context.Context, string, ...any)
	}
	queueLogger interface {
		Debug(...any)
		Info(...any)
		Warn(...any)
		Error(...any)
		Fatal(...any)
	}
)

var (
	_ printer     = (*telemetry.RedisLog)(nil)
	_ queueLogger = (*telemetry.QueueLog)(nil)
)

func TestQueueLogReplacesTheLibrarysText(t *testing.T) {
	for _, c := range []struct {
		text                 string
		code, message, cause string
	}{
		{"Starting processing", "started", "queue processing started", "unknown"},
		{"Dequeue error: UNKNOWN: redis eval error: dial tcp 10.1.2.3:6379: connect: connection refused", "dequeue", "queue could not be read", "connection refused"},
		{"Failed to write server state data: WRONGPASS invalid " + canary, "heartbeat", "queue server's record could not be written", "redis WRONGPASS"},
		{"recovering from panic. See the stack trace below for details:\n" + canary, "panic", "task handler panicked", "unknown"},
		{"Retry exhausted for task id=" + canary, "exhausted", "task has no deliveries left and is archived", "unknown"},
		{canary, "unknown", "queue library message", "unknown"},
		{"", "unknown", "queue library message", "unknown"},
	} {
		line := logged(t, "info", func(log *telemetry.Logger) { telemetry.NewQueueLog(log).Error(c.text) })
		got := fields(t, line)
		if got["code"] != c.code || got["message"] != c.message || got["because"] != c.cause || got["level"] != "error" {
			t.Errorf("%q: %s", c.text, line)
		}
		if strings.Contains(line, "CANARY") || strings.Contains(line, "10.1.2.3") {
			t.Errorf("the library's text passes: %s", line)
		}
	}
}

func TestQueueLogKeepsLevelsAndDoesNotEndTheProcess(t *testing.T) {
	out := logged(t, "debug", func(log *telemetry.Logger) {
		q := telemetry.NewQueueLog(log)
		q.Debug("x")
		q.Info("x")
		q.Warn("x")
		q.Error("x")
		q.Fatal("x")
	})
	var levels []string
	for line := range strings.Lines(out) {
		level, _ := fields(t, line)["level"].(string)
		levels = append(levels, level)
	}
	if got := strings.Join(levels, " "); got != "debug info warn error error" {
		t.Errorf("levels %s", got)
	}
}

// A new version of the library may say things otherwise: then its lines would only be "queue library message".
func TestQueueLogKnowsTheMessagesOfThePinnedVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/hibiken/asynq").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of asynq: %v", err)
	}
	var source strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, prefix := range telemetry.QueueMessagePrefixes() {
		if !strings.Contains(source.String(), `"`+prefix) {
			t.Errorf("asynq no longer says %q", prefix)
		}
	}
}

func TestRedisLogPrintsTheFixedPartOnly(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []any
		want   string
		cause  string
	}{
		{"redis: connection pool: failed to dial after %d attempts: %v", []any{5, syscall.ECONNREFUSED}, "redis client: connection pool: failed to dial after _ attempts: _", "connection refused"},
		{"sentinel: GetMasterAddrByName name=%q failed: %s", []any{canary, errors.New(canary)}, "redis client: sentinel: GetMasterAddrByName name=_ failed: _", "*errors.errorString"},
		{"conn[%d] has nil state machine, removing it %-5.2f%%", []any{1, 2.0}, "redis client: conn[_] has nil state machine, removing it __", "unknown"},
		{"%s", []any{canary}, "redis client: message", "unknown"},
		{canary, nil, "redis client: message", "unknown"},
		{"redis: trailing %", nil, "redis client: trailing _", "unknown"},
		{"", nil, "redis client: message", "unknown"},
	} {
		line := logged(t, "info", func(log *telemetry.Logger) { telemetry.NewRedisLog(log).Printf(t.Context(), c.format, c.args...) })
		got := fields(t, line)
		if got["message"] != c.want || got["because"] != c.cause || got["level"] != "warn" {
			t.Errorf("%q: %s", c.format, line)
		}
		if strings.Contains(line, "CANARY") {
			t.Errorf("%q: what was formatted passes: %s", c.format, line)
		}
	}
}
