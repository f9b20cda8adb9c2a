package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

type (
	count  int
	secret string
)

func (secret) String() string { return "ours, but with spaces: " + canary }

const canary = "CANARY of the customer"

func TestPairsPrintAsNumbersIdentifiersAndNothingElse(t *testing.T) {
	const none = "none"
	for _, c := range []struct {
		key   any
		value any
		want  any // under the key, or under key_ms for durations
	}{
		{"n", 7, 7.0},
		{"n", int64(-7), -7.0},
		{"n", uint8(7), 7.0},
		{"n", count(7), 7.0},
		{"n", 0.5, 0.5},
		{"b", true, true},
		{"d", 1500 * time.Millisecond, 1500.0},
		{"d_ms", 1500 * time.Millisecond, 1500.0},
		{"t", time.Unix(0, 0), "1970-01-01T00:00:00.000Z"},
		{"s", aRun, aRun},
		{"s", "", ""},
		{"s", "10.0.0.1:6379", "10.0.0.1:6379"},
		{"s", canary, "[content]"},
		{"s", "redis://user:password@host:6379/0", "[content]"},
		{"s", "user:password@host", "[content]"},
		{"s", strings.Repeat("x", 200), "[content]"},
		{"s", "line\nbreak", "[content]"},
		{"ss", []string{"default", canary}, []any{"default", "[content]"}},
		{"o", executor.OutcomeDegraded, "DEGRADED"},
		{"k", provider.KindRateLimit, "rate_limit"},
		{"id", classify, "classify-tables"},
		{"own", secret("x"), "[content]"},
		{"foreign", &url.URL{Host: "host", Path: "/secret"}, "[content]"},
		{"nothing", nil, none},
		{"nilurl", (*net.IPNet)(nil), none},
		{"bytes", []byte(canary), "[content]"},
		{"json", json.RawMessage(`"x"`), "[content]"},
		{"struct", struct{ Text string }{canary}, "[content]"},
		{"func", func() {}, "[content]"},
		{"err", errors.New(canary), "*errors.errorString"},
		{canary, 1, nil},
		{42, 1, nil},
	} {
		line := logged(t, "info", func(log *telemetry.Logger) { log.Info("message", c.key, c.value) })
		if strings.Contains(line, "CANARY") {
			t.Errorf("%v: content in %s", c.key, line)
		}
		got := fields(t, line)
		name, _ := c.key.(string)
		value, ok := got[name]
		if !ok {
			value, ok = got[name+"_ms"]
		}
		if !ok && c.want != nil || fmt.Sprint(value) != fmt.Sprint(c.want) {
			t.Errorf("%v=%v prints as %v, want %v", c.key, c.value, value, c.want)
		}
	}
}

func TestKeyWithoutAValueIsMarked(t *testing.T) {
	line := logged(t, "info", func(log *telemetry.Logger) { log.Info("message", "n", 1, canary) })
	if got := fields(t, line); got["missing"] != "[content]" || strings.Contains(line, "CANARY") {
		t.Errorf("%s", line)
	}
}

func TestNilLoggerIsSilent(*testing.T) {
	var log *telemetry.Logger
	log.Debug("x")
	log.Info("x")
	log.Warn("x")
	log.Error("x", "key", 1)
	log.Close()
	telemetry.NewRedisLog(nil).Printf(context.Background(), "redis: x")
}

type redisReply string

func (r redisReply) Error() string { return string(r) }
func (redisReply) RedisError()     {}

func TestErrorCodeNamesErrorsWithoutTheirText(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6379}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "none"},
		{errors.New(canary), "*errors.errorString"},
		{fmt.Errorf("%s: %w", canary, &json.SyntaxError{}), "*json.SyntaxError"},
		{dial, "connection refused"},
		{fmt.Errorf("%s: %w", canary, dial), "connection refused"},
		{&net.DNSError{Name: canary}, "name not resolved"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "timeout"},
		{context.Canceled, "canceled"},
		{fmt.Errorf("%s: %w", canary, context.DeadlineExceeded), "deadline exceeded"},
		{io.EOF, "end of input"},
		{io.ErrUnexpectedEOF, "unexpected end"},
		{net.ErrClosed, "connection closed"},
		{&os.PathError{Op: "open", Path: canary, Err: syscall.ENOENT}, "does not exist"},
		{redisReply("WRONGPASS invalid username-password pair or user is disabled."), "redis WRONGPASS"},
		{redisReply("ERR Error running script: " + canary), "redis ERR"},
		{redisReply("CANARY " + canary), "redis"},
		{executor.Failure{Class: executor.ClassSchema, Err: errors.New(canary)}, "schema"},
		{&executor.Parked{}, "parked"},
		{executor.ErrInterrupted, "interrupted"},
		{&executor.PanicError{Type: "string"}, "panic"},
		{provider.SchemaViolation(primary), "output_validation"},
	} {
		if got := telemetry.ErrorCode(c.err); got != c.want {
			t.Errorf("%T: %q, want %q", c.err, got, c.want)
		}
	}
}
