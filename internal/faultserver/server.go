package faultserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Request is what the server has read.
type Request struct {
	N      int // from 1, over all connections
	Conn   int // from 1
	At     time.Time
	Method string
	Path   string // with its query
	Header http.Header
	Body   []byte
}

// Call is one request and what became of it.
type Call struct {
	Request
	// Left is closed when the client went away before it had the whole answer.
	Left <-chan struct{}
	// Done is closed when the server has finished with the request.
	Done <-chan struct{}
}

// Script decides about a request. It is called for one request at a time.
type Script func(Request) Answer

// Server is a running server.
type Server struct {
	listener net.Listener
	script   Script
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	calls []Call
	conns map[net.Conn]bool
	next  int
	err   error
}

// Start listens and serves until Close, or until ctx ends.
func Start(ctx context.Context, script Script) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{listener: l, script: script, stop: stop, conns: map[net.Conn]bool{}}
	s.running.Go(func() { s.accept(ctx) })
	context.AfterFunc(ctx, s.shut)
	return s, nil
}

// URL is the server's base URL, without a path.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Calls returns the requests so far, in the order in which they came.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Err returns the first mistake in a script, such as a mode that is none.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Connections returns how many connections were made.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// Close stops listening, closes every connection and waits for all that is running. Afterwards the port refuses.
func (s *Server) Close() {
	s.stop()
	s.shut()
	s.running.Wait()
}

func (s *Server) shut() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

func (s *Server) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.next++
		n := s.next
		s.conns[conn] = true
		s.mu.Unlock()
		if ctx.Err() != nil {
			conn.Close()
		}
		s.running.Go(func() {
			s.serve(ctx, conn, n)
			conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// serve answers one request after the other. Between an answer's first and last byte a client says nothing, so whatever
// ends the reading then is the client going away.
func (s *Server) serve(ctx context.Context, conn net.Conn, n int) {
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		left, watched, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		answer := s.record(Call{
			Request: Request{Conn: n, At: time.Now(), Method: req.Method, Path: req.URL.RequestURI(), Header: req.Header, Body: body},
			Left:    left, Done: done,
		})
		// A client that goes away is noticed by the reading or by a write that fails, whichever is first.
		gone := sync.OnceFunc(func() { close(left) })
		go func() {
			defer close(watched)
			if _, err := r.Peek(1); err != nil {
				select {
				case <-done:
				default:
					gone()
				}
			}
		}()
		e := exchange{conn: conn, answer: answer, gone: gone, left: left, stop: ctx.Done(), gzip: acceptsGzip(req.Header)}
		alive := e.run()
		close(done)
		if !alive {
			conn.Close()
		}
		<-watched // by the next request, or by the end of the connection
		if !alive {
			return
		}
	}
}

func (s *Server) record(c Call) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.N = len(s.calls) + 1
	s.calls = append(s.calls, c)
	answer := s.script(c.Request)
	if err := answer.check(); err != nil && s.err == nil {
		s.err = err
	}
	return answer
}
