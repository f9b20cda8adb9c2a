package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresTools are the folders in which distributions hide what is not for everybody's PATH.
var postgresTools = []string{"/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin"}

func postgresTool(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range postgresTools {
		if found, _ := filepath.Glob(filepath.Join(pattern, name)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

func postgresThere() bool { return postgresTool("initdb") != "" && postgresTool("postgres") != "" }

// withPostgres runs do with a PostgreSQL of its own that, like the Redis beside it, keeps nothing on disk for certain.
func withPostgres(ctx context.Context, do func(url string) error) error {
	dir, err := os.MkdirTemp("", "anchors")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
	who, err := unprivileged(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, postgresTool("initdb"), "-D", data, "-A", "trust", "-U", "bench", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = who, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	server := exec.CommandContext(ctx, postgresTool("postgres"), "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
	server.SysProcAttr, server.Dir = who, dir
	var log strings.Builder
	server.Stderr = &log
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGQUIT) }
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGQUIT) // fails only when it is gone
		_ = server.Wait()
	}()
	url := fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable", port)
	if err := awaitPostgres(ctx, url); err != nil {
		return fmt.Errorf("postgres: %w\n%s", err, log.String())
	}
	return do(url)
}

func awaitPostgres(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// unprivileged is how to run PostgreSQL, which refuses root: as postgres or nobody, who then owns the folder.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 != nil || err2 != nil {
			continue
		}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
