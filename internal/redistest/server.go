package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// TB is what is needed of a testing.TB. A TestMain that shares a server between tests brings one of its own: see Suite.
type TB interface {
	Helper()
	Cleanup(end func())
	Fatalf(format string, args ...any)
}

// Server is a running redis-server. Its methods fail the test when the operating system refuses; they may be called from
// one goroutine at a time.
type Server struct {
	Addr string // host:port on loopback; the same after Restart

	tb     TB
	config config
	port   int // held from startOnHeldPort to the end of the test

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has been waited for
}

// Start runs a redis-server until the test ends. It returns when the server answers.
func Start(tb TB, options ...Option) *Server {
	tb.Helper()
	s := &Server{tb: tb, config: config{dir: newDir(tb)}}
	for _, option := range options {
		if err := option(&s.config); err != nil {
			tb.Fatalf("redistest: option: %v", err)
		}
	}
	tb.Cleanup(func() { s.end(syscall.SIGKILL) })
	s.startOnHeldPort()
	return s
}

// startOnHeldPort tries again with another port when a program that holds none as we do took it meanwhile.
func (s *Server) startOnHeldPort() {
	s.tb.Helper()
	var err error
	for range 5 {
		s.port = holdPort(s.tb, s.config.cluster)
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
		if err = s.launch(); err == nil {
			return
		}
	}
	s.tb.Fatalf("redistest: redis-server does not start: %v\n%s", err, s.logTail())
}

// launch starts the process and waits until it answers.
func (s *Server) launch() error {
	words := []string{
		"--bind", "127.0.0.1", "--dir", s.config.dir, "--logfile", s.logFile(),
		"--save", "", "--daemonize", "no", "--maxmemory-policy", "noeviction",
	}
	if s.config.tls != nil {
		words = append(words, "--port", "0", "--tls-port", strconv.Itoa(s.port))
	} else {
		words = append(words, "--port", strconv.Itoa(s.port))
	}
	if s.config.cluster {
		words = append(words, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "3000")
	}
	cmd := exec.Command(binary(s.tb), append(words, s.config.args...)...) //nolint:noctx // it ends with the test, by cleanup, whatever the context
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is for its log to say
		close(exited)
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	return s.await(cmd.Process.Pid, exited)
}

// await asks until the server answers or has ended. Another's server on the same port is not taken for it: it would end
// with that other's test.
func (s *Server) await(pid int, exited <-chan struct{}) error {
	rdb := redis.NewClient(s.adminOptions())
	defer rdb.Close()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := rdb.Info(context.Background(), "server").Result()
		if err == nil && strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r", pid)) {
			return nil
		}
		select {
		case <-exited:
			return errors.New("it ended at once")
		case <-tick.C:
		}
	}
}

// URL is the address in the form that redis.ParseURL reads, with user and password where there are any. A TLS server's
// certificate is not trusted by the system: use Options, or CAFile.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr, Path: "/0"}
	if s.config.tls != nil {
		u.Scheme = "rediss"
	}
	if s.config.password != "" {
		u.User = url.UserPassword(s.config.user, s.config.password)
	}
	return u.String()
}

// CAFile is the certificate that signs a TLS server's own.
func (s *Server) CAFile() string { return certificateIn(s.config.certs) }

// Options returns fresh client options for the server.
func (s *Server) Options() *redis.Options {
	return &redis.Options{Addr: s.Addr, Username: s.config.user, Password: s.config.password, TLSConfig: s.config.tls}
}

// Client returns a client that is closed when the test ends.
func (s *Server) Client(tb TB) *redis.Client {
	rdb := redis.NewClient(s.Options())
	tb.Cleanup(func() { _ = rdb.Close() }) // fails only when the test has closed it
	return rdb
}

// As returns a client of one of Users, closed when the test ends.
func (s *Server) As(tb TB, user, password string) *redis.Client {
	o := s.Options()
	o.Username, o.Password = user, password
	rdb := redis.NewClient(o)
	tb.Cleanup(func() { rdb.Close() })
	return rdb
}

// Admin returns a client with all rights, whatever ACLUser allows, closed when the test ends.
func (s *Server) Admin(tb TB) *redis.Client {
	rdb := redis.NewClient(s.adminOptions())
	tb.Cleanup(func() { _ = rdb.Close() }) // fails only when the test has closed it
	return rdb
}

func (s *Server) adminOptions() *redis.Options {
	o := s.Options()
	switch {
	case s.config.admin != "":
		o.Username, o.Password = s.config.admin, s.config.admin
	case s.config.user != "":
		o.Username, o.Password = "", ""
	}
	o.MaxRetries = -1
	return o
}

// Kill ends the server as kill -9 and a lost host do, and returns when it is gone.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server as an orderly shutdown does, and returns when it is gone.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Restart starts an ended server, or ends and starts a running one, on the same port. Without Persistent it comes back
// empty.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	if err := s.launch(); err != nil {
		s.tb.Fatalf("redistest: redis-server does not come back: %v\n%s", err, s.logTail())
	}
}

// Pause freezes the server: it keeps its connections and answers nothing, like a host that swaps or a network that
// swallows packets.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Cont lets a paused server go on; it then works through what it was sent meanwhile.
func (s *Server) Cont() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.tb.Helper()
	s.mu.Lock()
	cmd := s.cmd
	s.mu.Unlock()
	if err := cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("redistest: signal %v: %v", sig, err)
	}
}

// end signals the process, whether it is paused or gone, and waits for it.
func (s *Server) end(sig os.Signal) {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // fails only when it is gone, which is what is wanted
	_ = cmd.Process.Signal(syscall.SIGCONT)
	<-exited
}

func (s *Server) logFile() string { return filepath.Join(s.config.dir, "redis.log") }

func (s *Server) logTail() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return "(no log)"
	}
	return string(text[max(0, len(text)-2000):])
}

// newDir is not the test's TempDir: that one's path holds the test's name, and can be too long for a Unix socket.
func newDir(tb TB) string {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // the system clears what is left
	return dir
}

func binary(tb TB) string {
	tb.Helper()
	name := os.Getenv("FOURFOLD_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("redistest: this test needs a real Redis and found no %q: run `make deps`, or name the binary in FOURFOLD_REDIS_SERVER (%v)", name, err)
	}
	return path
}
