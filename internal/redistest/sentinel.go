package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is what a Sentinel calls its master.
const MasterName = "fourfold"

// Sentinel is a master with a replica, and one sentinel that promotes the replica when the master dies.
type Sentinel struct {
	Addr            string // of the sentinel
	Master, Replica *Server
}

// StartSentinel runs the three until the test ends. It returns when the sentinel knows both servers and the replica has
// caught up. The options go to both servers.
func StartSentinel(tb TB, options ...Option) *Sentinel {
	tb.Helper()
	s := &Sentinel{Master: Start(tb, options...)}
	host, port := hostPort(tb, s.Master.Addr)
	s.Replica = Start(tb, append(options, Args("--replicaof", host, port, "--repl-ping-replica-period", "1"))...)
	s.watch(tb, host, port)
	s.await(tb, "knows the replica", func(ctx context.Context, rdb *redis.SentinelClient) bool {
		replicas, err := rdb.Replicas(ctx, MasterName).Result()
		return err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})
	return s
}

// Until Failover, a master that is slow to answer must not be taken for dead: the machine may be busy.
const (
	patientSentinel = time.Hour
	hastySentinel   = 700 * time.Millisecond
)

// watch starts the sentinel: the same binary, with a file of settings that it rewrites itself.
func (s *Sentinel) watch(tb TB, host, port string) {
	tb.Helper()
	dir, listen := newDir(tb), holdPort(tb, false)
	s.Addr = net.JoinHostPort("127.0.0.1", fmt.Sprint(listen))
	file := filepath.Join(dir, "sentinel.conf")
	settings := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nlogfile %s\n"+
		"sentinel monitor %s %s %s 1\nsentinel down-after-milliseconds %[4]s %[7]d\nsentinel failover-timeout %[4]s 3000\n",
		listen, dir, filepath.Join(dir, "sentinel.log"), MasterName, host, port, patientSentinel.Milliseconds())
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	cmd := exec.Command(binary(tb), file, "--sentinel") //nolint:noctx // it ends with the test, by cleanup, whatever the context
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		tb.Fatalf("redistest: sentinel: %v", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

// Failover lets the master die once the replica has all that was written before, and returns when the replica is the
// master. What workers write in between may be lost, as in any failover.
func (s *Sentinel) Failover(tb TB) {
	tb.Helper()
	ctx := context.Background()
	admin := s.Master.Admin(tb)
	if err := admin.Set(ctx, "redistest:failover", "1", time.Minute).Err(); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	if n, err := admin.Wait(ctx, 1, 0).Result(); err != nil || n != 1 {
		tb.Fatalf("redistest: the replica lags: %d %v", n, err)
	}
	sentinel := s.client()
	defer sentinel.Close()
	if err := sentinel.Set(ctx, MasterName, "down-after-milliseconds", fmt.Sprint(hastySentinel.Milliseconds())).Err(); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	s.Master.Kill()
	host, port := hostPort(tb, s.Replica.Addr)
	s.await(tb, "promotes the replica", func(ctx context.Context, rdb *redis.SentinelClient) bool {
		addr, err := rdb.GetMasterAddrByName(ctx, MasterName).Result()
		return err == nil && len(addr) == 2 && addr[0] == host && addr[1] == port
	})
}

// await polls the sentinel: it tells nobody who is not subscribed.
func (s *Sentinel) await(tb TB, what string, is func(context.Context, *redis.SentinelClient) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	rdb := s.client()
	defer rdb.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is(ctx, rdb) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("redistest: the sentinel never %s", what)
		}
	}
}

// client talks to the sentinel itself.
func (s *Sentinel) client() *redis.SentinelClient {
	return redis.NewSentinelClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
}

// Client returns a client that follows the master, closed when the test ends.
func (s *Sentinel) Client(tb TB) *redis.Client {
	o := s.Master.Options()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: MasterName, SentinelAddrs: []string{s.Addr}, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
	})
	tb.Cleanup(func() { rdb.Close() })
	return rdb
}

func hostPort(tb TB, addr string) (host, port string) {
	tb.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	return host, port
}
