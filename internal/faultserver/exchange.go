package faultserver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// exchange sends one answer.
type exchange struct {
	conn   net.Conn
	answer Answer
	gone   func() // closes left
	left   <-chan struct{}
	stop   <-chan struct{}
	gzip   bool
}

func acceptsGzip(h http.Header) bool { return strings.Contains(h.Get("Accept-Encoding"), "gzip") }

// run says whether the connection may be used for another request.
func (e *exchange) run() (alive bool) {
	switch e.answer.Mode {
	case CloseBeforeHeaders:
		return false
	case ResetBeforeHeaders:
		return e.reset()
	case Garbage:
		e.write([]byte("\x16\x03\x01 this is no HTTP\r\n\r\n"))
		return false
	case HangBeforeHeaders:
		e.waitForever()
		return false
	case Delay:
		if !e.wait(e.answer.Pause) {
			return false
		}
		e.answer.Pause = 0
	case Normal, HangAfterHeaders, Cut, Reset, CutHeaders, CleanEOF, Stall, PingForever, SplitBytes, Drip, LateEnd, Gzip, CutGzip:
	}
	if e.answer.Chunks != nil {
		return e.stream()
	}
	return e.whole()
}

func (e *exchange) whole() (alive bool) {
	body := []byte(e.answer.Body)
	encoding := ""
	if e.gzip && (e.answer.Mode == Gzip || e.answer.Mode == CutGzip) {
		body, encoding = compress(body), "Content-Encoding: gzip\r\n"
	}
	if e.answer.Mode == CutGzip {
		body = body[:len(body)/2]
	}
	head := e.head(encoding + fmt.Sprintf("Content-Length: %d\r\n", len(body)))
	switch e.answer.Mode {
	case CutHeaders:
		e.write(head[:len(head)/2])
		return false
	case HangAfterHeaders:
		e.write(head)
		e.waitForever()
		return false
	case Cut, Reset:
		e.write(append(head, body[:len(body)*6/10]...))
		return e.answer.Mode == Reset && e.reset()
	case CleanEOF:
		e.write(append(e.head("Connection: close\r\n"), body...))
		return false
	case SplitBytes, Drip:
		return e.pieces(append(head, body...))
	case Normal, CloseBeforeHeaders, ResetBeforeHeaders, HangBeforeHeaders, Delay, Stall, PingForever, LateEnd, Gzip, CutGzip, Garbage:
	}
	return e.write(append(head, body...))
}

func (e *exchange) stream() (alive bool) {
	framed := e.answer.Mode != CleanEOF
	frame := func(s string) []byte {
		if !framed || s == "" {
			return []byte(s)
		}
		return fmt.Appendf(nil, "%x\r\n%s\r\n", len(s), s)
	}
	encoding := "Transfer-Encoding: chunked\r\n"
	if !framed {
		encoding = "Connection: close\r\n"
	}
	head := e.head(encoding)
	if e.answer.Mode == SplitBytes || e.answer.Mode == Drip {
		all := head
		for _, c := range e.answer.Chunks {
			all = append(all, frame(c)...)
		}
		return e.pieces(append(all, "0\r\n\r\n"...))
	}
	if !e.write(head) {
		return false
	}
	if e.answer.Mode == HangAfterHeaders {
		e.waitForever()
		return false
	}
	if !e.wait(e.answer.First) {
		return false
	}
	for _, c := range e.answer.Chunks {
		if !e.wait(e.answer.Pause) || !e.write(frame(c)) {
			return false
		}
	}
	return e.end(frame)
}

// end ends a stream, or does not.
func (e *exchange) end(frame func(string) []byte) (alive bool) {
	switch e.answer.Mode {
	case Cut, CleanEOF, CutHeaders:
		return false
	case Reset:
		return e.reset()
	case Stall:
		e.waitForever()
		return false
	case PingForever:
		ping := e.answer.Ping
		if ping == "" {
			ping = ": ping\n\n"
		}
		for e.wait(e.answer.Interval) && e.write(frame(ping)) {
			continue
		}
		return false
	case LateEnd:
		if !e.wait(e.answer.Interval) {
			return false
		}
	case Normal, CloseBeforeHeaders, ResetBeforeHeaders, HangBeforeHeaders, Delay, HangAfterHeaders, SplitBytes, Drip, Gzip, CutGzip, Garbage:
	}
	return e.write([]byte("0\r\n\r\n"))
}

func (e *exchange) pieces(all []byte) (alive bool) {
	for piece := range slices.Chunk(all, max(e.answer.Size, 1)) {
		if !e.write(piece) {
			return false
		}
		if e.answer.Mode == Drip && !e.wait(e.answer.Interval) {
			return false
		}
	}
	return true
}

func (e *exchange) head(more string) []byte {
	status := e.answer.Status
	if status == 0 {
		status = http.StatusOK
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, name := range slices.Sorted(maps.Keys(e.answer.Headers)) {
		fmt.Fprintf(&b, "%s: %s\r\n", name, e.answer.Headers[name])
	}
	b.WriteString(more + "\r\n")
	return b.Bytes()
}

func (e *exchange) write(p []byte) bool {
	if _, err := e.conn.Write(p); err != nil {
		e.gone()
		return false
	}
	return true
}

// reset makes the closing of the connection an RST.
func (e *exchange) reset() (alive bool) {
	if tcp, ok := e.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return false
}

// wait says whether the client is still there.
func (e *exchange) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.left:
	case <-e.stop:
	}
	return false
}

func (e *exchange) waitForever() {
	select {
	case <-e.left:
	case <-e.stop:
	}
}

func compress(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(p)
	_ = w.Close()
	return b.Bytes()
}
