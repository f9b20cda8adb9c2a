package faultserver

import (
	"fmt"
	"time"
)

// Mode is how an answer reaches the client. The zero value is as it should be.
type Mode string

// The modes. Those that name chunks are for streams.
const (
	Normal             Mode = ""
	CloseBeforeHeaders Mode = "close_before_headers" // read the request, then FIN
	ResetBeforeHeaders Mode = "reset_before_headers" // read the request, then RST
	HangBeforeHeaders  Mode = "hang_before_headers"  // read the request, then silence until the client goes
	Delay              Mode = "delay"                // wait before the headers
	HangAfterHeaders   Mode = "hang_after_headers"   // headers, then silence
	Cut                Mode = "cut"                  // FIN before the end: chunks without the last one, 60% of a body
	Reset              Mode = "reset"                // the same with RST
	CutHeaders         Mode = "cut_headers"          // FIN in the middle of the headers
	CleanEOF           Mode = "clean_eof"            // the end of the connection ends the answer: neither length nor chunks
	Stall              Mode = "stall"                // all chunks, then silence without an end
	PingForever        Mode = "ping_forever"         // all chunks, then Ping each Interval without an end
	SplitBytes         Mode = "split_bytes"          // Size bytes a write
	Drip               Mode = "drip"                 // Size bytes each Interval
	LateEnd            Mode = "late_end"             // all chunks, then Interval, then the end
	Gzip               Mode = "gzip"                 // compressed, if the client takes it
	CutGzip            Mode = "cut_gzip"             // compressed, with half of it missing though the length fits
	Garbage            Mode = "garbage"              // bytes that are no HTTP
)

// Modes returns all modes but Normal.
func Modes() []Mode {
	return []Mode{
		CloseBeforeHeaders, ResetBeforeHeaders, HangBeforeHeaders, Delay, HangAfterHeaders, Cut, Reset, CutHeaders, CleanEOF,
		Stall, PingForever, SplitBytes, Drip, LateEnd, Gzip, CutGzip, Garbage,
	}
}

// Answer is what the server does with one request.
type Answer struct {
	Status  int // 0: 200
	Headers map[string]string
	Body    string   // sent with its length, when Chunks is nil
	Chunks  []string // sent one a write, with chunked encoding
	Mode    Mode

	Pause    time.Duration // Delay: before the headers. Other modes: before each chunk
	First    time.Duration // between the headers and the first chunk
	Interval time.Duration // Drip, PingForever, LateEnd
	Size     int           // SplitBytes, Drip: bytes; 0: 1
	Ping     string        // PingForever: empty: a comment
}

// JSON is a whole answer.
func JSON(status int, body string) Answer {
	return Answer{Status: status, Headers: map[string]string{"Content-Type": "application/json"}, Body: body}
}

// Events is a streamed answer.
func Events(chunks ...string) Answer {
	return Answer{Headers: map[string]string{"Content-Type": "text/event-stream"}, Chunks: chunks}
}

// With returns the answer in another mode.
func (a Answer) With(m Mode) Answer {
	a.Mode = m
	return a
}

// Header returns the answer with one more header.
func (a Answer) Header(name, value string) Answer {
	headers := map[string]string{name: value}
	for k, v := range a.Headers {
		if k != name {
			headers[k] = v
		}
	}
	a.Headers = headers
	return a
}

func (a Answer) check() error {
	if a.Mode == Normal {
		return nil
	}
	for _, m := range Modes() {
		if a.Mode == m {
			return nil
		}
	}
	return fmt.Errorf("faultserver: unknown mode %q", string(a.Mode))
}
