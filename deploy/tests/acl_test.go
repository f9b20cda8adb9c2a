package tests

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The users of Redis may do what their part needs, and no more: tried on a real Redis with the very file that the
// component installs. The worker's whole work under this user is tried by the suites of the main module.
func TestRedisUsersMayDoWhatTheyMust(t *testing.T) {
	addr := startRedis(t, filepath.Join(top, "deploy/k8s/components/redis/users.acl"))
	const (
		yes = true
		no  = false
	)
	for _, c := range []struct {
		command                  string
		worker, producer, scaler bool
	}{
		{"PING", yes, yes, yes},
		{"EVAL return(1) 0", yes, yes, yes},
		{"LLEN asynq:{default}:pending", yes, yes, yes},
		{"ZCARD asynq:{default}:retry", yes, yes, yes},
		{"ZCARD fourfold:{default}:outbox", yes, yes, yes},
		{"TYPE fourfold:{default}:claims", yes, yes, yes},
		{"ZCARD fourfold:{default}:claims", yes, yes, yes},
		{"GET fourfold:{default}:val:r:1:s", yes, yes, no},
		{"HGETALL fourfold:{default}:run:r", yes, yes, no},
		{"LPUSH asynq:{default}:pending x", yes, yes, no},
		{"SET fourfold:bundle:x y", yes, yes, no},
		{"GET rate:fourfold:{limit:p}", yes, no, no},
		{"PUBLISH fourfold:wake x", yes, yes, no},
		{"PUBLISH asynq:cancel x", yes, yes, no},
		{"SADD asynq:queues default", yes, yes, no},
		{"BLMOVE asynq:{default}:pending asynq:{default}:pending RIGHT RIGHT 0.01", yes, yes, no},
		{"INFO server", yes, yes, no},
		{"CLIENT SETNAME fourfold", yes, yes, no},
		{"CONFIG GET maxmemory-policy", no, no, no},
		{"CONFIG SET maxmemory 1mb", no, no, no},
		{"FLUSHALL", no, no, no},
		{"KEYS *", no, no, no},
		{"ACL LIST", no, no, no},
		{"SHUTDOWN", no, no, no},
		{"CLIENT KILL ID 1", no, no, no},
		{"GET another:service", no, no, no},
		{"PUBLISH another:channel x", no, no, no},
	} {
		for user, want := range map[string]bool{"worker": c.worker, "producer": c.producer, "scaler": c.scaler, "default": c.command == "PING"} {
			if err := try(t, addr, user, c.command); (err == nil) != want {
				t.Errorf("%s as %s: allowed %v, want %v (%v)", c.command, user, err == nil, want, err)
			}
		}
	}
}

// try runs one command; the error is Redis' refusal. An answer of another kind is no refusal.
func try(t *testing.T, addr, user, command string) error {
	t.Helper()
	opts := &redis.Options{Addr: addr, Username: user, Password: "dev-" + user, DisableIdentity: true, MaxRetries: -1}
	if user == "default" {
		opts.Username, opts.Password = "", ""
	}
	client := redis.NewClient(opts)
	defer client.Close()
	var args []any
	for word := range strings.SplitSeq(command, " ") {
		args = append(args, word)
	}
	err := client.Do(t.Context(), args...).Err()
	if err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
		return err
	}
	if err != nil && err != redis.Nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
		t.Errorf("%s as %s: %v", command, user, err)
	}
	return nil
}

// startRedis starts a redis-server with the users of a file, on a free port, for one test.
func startRedis(t *testing.T, users string) string {
	t.Helper()
	text, err := os.ReadFile(users)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "users.acl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	var log strings.Builder
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--aclfile", file, "--dir", folder)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("redis-server (make deps installs it): %v", err)
	}
	var ended error
	exited := make(chan struct{})
	go func() {
		ended = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error: it has ended
		<-exited
	})
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for client.Ping(ctx).Err() != nil {
		select {
		case <-exited:
			t.Fatalf("redis-server ended: %v\n%s", ended, log.String())
		case <-ctx.Done():
			t.Fatal("redis-server does not answer")
		case <-time.After(10 * time.Millisecond):
		}
	}
	return addr
}
