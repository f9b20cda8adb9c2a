package telemetry

import (
	"io"

	"github.com/DataDog/datadog-go/v5/statsd"
)

// NewToWriter returns a Sink without a log that sends its packets to w.
func NewToWriter(w io.Writer) *Sink {
	c := &statsdClient{stop: make(chan struct{})}
	client, err := statsd.NewDirectWithWriter(nopCloser{w}, c.options()...)
	if err != nil {
		panic(err)
	}
	c.client.Store(client)
	return newSink(c, nil)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Lose pretends that log lines and metric payloads were not taken.
func (s *Sink) Lose(lines, payloads int64) {
	s.log.out.dropped.Add(lines)
	s.statsd.lost.Add(payloads)
}

// ForgetOften makes the Sink start its caches of tags anew after so many kinds.
func (s *Sink) ForgetOften(kinds int) {
	s.steps.most, s.calls.most, s.runs.most, s.tokens.most = kinds, kinds, kinds, kinds
}

// Limits of what a Sink holds and how long it may take to close.
const (
	LinesKept   = linesKept
	CloseWithin = closeWithin
	ReadyWithin = readyWithin
)

// Bounded is what Flush and Close run in.
func Bounded(f func()) { bounded(f) }

// LogTo gives the Sink a log before it is told anything.
func (s *Sink) LogTo(l *Logger) { s.log = l }
