package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// users is the one place where the rights of the fleet's users are written down.
var users = filepath.Join(top, "deploy/k8s/components/redis/users.acl")

// The users of Redis may do what their part needs, and no more: tried on a real Redis with the very file that the
// component installs. The worker's whole work under this user is tried by the suites of the main module.
func TestRedisUsersMayDoWhatTheyMust(t *testing.T) {
	addr := redistest.Start(t, redistest.Users(users)).Addr
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
		{"LLEN asynq:{default}:active", yes, yes, yes},
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
		{"CLUSTER SLOTS", yes, yes, yes},
		{"COMMAND COUNT", yes, yes, yes},
		{"CLUSTER NODES", no, no, no},
		{"CLUSTER RESET", no, no, no},
		{"CLUSTER FAILOVER", no, no, no},
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
	if err != nil && err != redis.Nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") && !strings.Contains(err.Error(), "cluster support disabled") {
		t.Errorf("%s as %s: %v", command, user, err)
	}
	return nil
}
