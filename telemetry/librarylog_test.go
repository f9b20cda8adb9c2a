package telemetry_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"fourfold/telemetry"
)

// printer is the method of go-redis's logger; the package itself has no place here.
type printer interface {
	Printf(context.Context, string, ...any)
}

var _ printer = (*telemetry.RedisLog)(nil)

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
