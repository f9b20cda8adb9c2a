package faultserver_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"fourfold/internal/faultserver"
)

// seen is what a plain client gets: how far it came, and how that ended.
type seen struct {
	headers bool
	body    string
	err     error
}

func get(ctx context.Context, t *testing.T, answer faultserver.Answer) (seen, *faultserver.Server) {
	t.Helper()
	s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer { return answer })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Transport{}
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.RoundTrip(req)
	if err != nil {
		return seen{err: err}, s
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return seen{true, string(body), err}, s
}

func TestModesThatEnd(t *testing.T) {
	whole, events := faultserver.JSON(200, "0123456789"), faultserver.Events("one", "two")
	for _, c := range []struct {
		mode    faultserver.Mode
		answer  faultserver.Answer
		headers bool
		body    string
		failed  bool
	}{
		{faultserver.Normal, whole, true, "0123456789", false},
		{faultserver.Normal, events, true, "onetwo", false},
		{faultserver.CloseBeforeHeaders, whole, false, "", true},
		{faultserver.ResetBeforeHeaders, whole, false, "", true},
		{faultserver.CutHeaders, whole, false, "", true},
		{faultserver.Garbage, whole, false, "", true},
		{faultserver.Cut, whole, true, "012345", true},
		{faultserver.Cut, events, true, "onetwo", true},
		{faultserver.CleanEOF, whole, true, "0123456789", false},
		{faultserver.CleanEOF, events, true, "onetwo", false},
		{faultserver.SplitBytes, whole, true, "0123456789", false},
		{faultserver.SplitBytes, events, true, "onetwo", false},
		{faultserver.LateEnd, events, true, "onetwo", false},
		{faultserver.Delay, whole, true, "0123456789", false},
		{faultserver.Gzip, whole, true, "0123456789", false},
		{faultserver.CutGzip, whole, true, "", true},
	} {
		got, s := get(t.Context(), t, c.answer.With(c.mode))
		if got.headers != c.headers || (c.mode != faultserver.CutGzip && got.body != c.body) || (got.err != nil) != c.failed {
			t.Errorf("%q: headers %v, body %q, %v; want %v, %q, failed %v", c.mode, got.headers, got.body, got.err, c.headers, c.body, c.failed)
		}
		if len(s.Calls()) != 1 || s.Err() != nil {
			t.Errorf("%q: %d calls, %v", c.mode, len(s.Calls()), s.Err())
		}
	}
}

func TestResetIsAReset(t *testing.T) {
	for _, mode := range []faultserver.Mode{faultserver.ResetBeforeHeaders, faultserver.Reset} {
		if got, _ := get(t.Context(), t, faultserver.Events("one").With(mode)); !errors.Is(got.err, syscall.ECONNRESET) {
			t.Errorf("%q: %v, want a reset", mode, got.err)
		}
	}
}

func TestModesThatNeverEndSeeTheClientGo(t *testing.T) {
	events := faultserver.Events("one")
	events.Interval, events.Size = time.Millisecond, 1
	dripping := events
	dripping.Interval = time.Hour
	for mode, answer := range map[faultserver.Mode]faultserver.Answer{
		faultserver.HangBeforeHeaders: events, faultserver.HangAfterHeaders: events, faultserver.Stall: events,
		faultserver.PingForever: events, faultserver.Drip: dripping,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		got, s := get(ctx, t, answer.With(mode))
		cancel()
		if !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("%q: %v, want that the client's time ended", mode, got.err)
		}
		// The client may run out of time before the server has seen its request, on a slow machine: then there is no call.
		for _, call := range s.Calls() {
			<-call.Left
			<-call.Done
		}
	}
}

// The server may learn that a client has gone from a write that fails, before it reads the end of the connection.
func TestClientThatLeavesBeforeTheAnswerBeginsHasLeft(t *testing.T) {
	for range 100 {
		asked, gone := make(chan struct{}), make(chan struct{})
		s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer {
			close(asked)
			<-gone
			return faultserver.Events("one").With(faultserver.Stall)
		})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-asked
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		close(gone)
		call := s.Calls()[0]
		<-call.Done
		select {
		case <-call.Left:
		case <-time.After(time.Minute):
			t.Fatal("the server never saw that the client went away")
		}
		s.Close()
	}
}

func TestConnectionIsKept(t *testing.T) {
	s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer { return faultserver.JSON(200, "{}") })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for range 3 {
		if _, err := io.WriteString(conn, "POST /x?y=z HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	calls := s.Calls()
	if len(calls) != 3 || s.Connections() != 1 || calls[2].N != 3 || calls[2].Path != "/x?y=z" || string(calls[2].Body) != "hi" {
		t.Errorf("%d calls over %d connections, the last %+v", len(calls), s.Connections(), calls[len(calls)-1].Request)
	}
	select {
	case <-calls[0].Left:
		t.Error("an answered client is said to have left")
	default:
	}
}

func TestClosedServerRefuses(t *testing.T) {
	s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer { return faultserver.Answer{} })
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error = %v, want refused", err)
	}
}

func TestUnknownModeIsAMistakeInTheScript(t *testing.T) {
	if _, s := get(t.Context(), t, faultserver.JSON(200, "{}").With("no such mode")); s.Err() == nil {
		t.Error("no error for an unknown mode")
	}
}
