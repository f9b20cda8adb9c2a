package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ErrDraining is wrapped by the readiness of a worker that is shutting down, so that /readyz can say so.
var ErrDraining = errors.New("draining")

const (
	// readyWithin bounds one question for readiness, below the second that Kubernetes waits for an answer.
	readyWithin = 900 * time.Millisecond
	// serverWithin bounds a request's headers, and the end of the server.
	serverWithin = time.Second
)

// Health answers GET and HEAD of /healthz and /readyz, in JSON of fixed words. /healthz says that the process is alive and
// asks nobody: a dead Redis must not get workers restarted. /readyz says whether the worker takes work.
type Health struct{ ready func(context.Context) error }

// NewHealth returns a Health. ready says why the worker takes no work, nil when it does; its error is never shown, but for
// ErrDraining. It is asked from many goroutines and given 900 ms, after which the worker counts as unready. nil: always ready.
func NewHealth(ready func(context.Context) error) *Health { return &Health{ready} }

// ServeHTTP answers a probe.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		answer(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	switch r.URL.Path {
	case "/healthz":
		answer(w, http.StatusOK, "alive")
	case "/readyz":
		switch err := h.ask(r.Context()); {
		case err == nil:
			answer(w, http.StatusOK, "ready")
		case errors.Is(err, ErrDraining):
			answer(w, http.StatusServiceUnavailable, "draining")
		default:
			answer(w, http.StatusServiceUnavailable, "unready")
		}
	default:
		answer(w, http.StatusNotFound, "not found")
	}
}

// ask races the question against its time: a Redis client may be slow to notice that its context is over.
func (h *Health) ask(ctx context.Context) error {
	if h.ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- h.ready(ctx) }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func answer(w http.ResponseWriter, code int, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, "{\"status\":%q}\n", status)
}

// HealthServer serves probes until it is closed.
type HealthServer struct {
	server   http.Server
	listener net.Listener
	ended    chan struct{}
}

// ServeHealth listens on addr (host:port; port 0 takes a free one) and serves h. The error is that of listening.
func ServeHealth(ctx context.Context, addr string, h *Health) (*HealthServer, error) {
	var cfg net.ListenConfig
	listener, err := cfg.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("health endpoint: %w", err)
	}
	s := &HealthServer{
		listener: listener,
		ended:    make(chan struct{}),
		server: http.Server{
			Handler:           h,
			ReadHeaderTimeout: serverWithin,
			ReadTimeout:       serverWithin,
			WriteTimeout:      3 * serverWithin,
			IdleTimeout:       time.Minute,
			MaxHeaderBytes:    8 << 10,
		},
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(listener) // always an error, and always that it was closed
	}()
	return s, nil
}

// Addr is where the server listens.
func (s *HealthServer) Addr() string { return s.listener.Addr().String() }

// Close lets probes in progress end, for a second at most, and stops listening.
func (s *HealthServer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), serverWithin)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	<-s.ended
}
