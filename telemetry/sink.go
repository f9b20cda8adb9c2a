package telemetry

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

const (
	// flushEvery is how often what was gathered is sent. It divides the agent's ten seconds evenly.
	flushEvery = 2 * time.Second
	// packetEvery is how often a packet that is not full is sent. By itself datadog-go looks ten times a second, which was half of
	// what a worker did that has nothing to do.
	packetEvery = time.Second
	// closeWithin bounds Close: a worker must be gone within two seconds whatever its agent does.
	closeWithin = 1800 * time.Millisecond
	// stepKinds and callKinds are how many combinations of tags are kept before the cache starts anew.
	stepKinds = 4096
	callKinds = 1024
)

// Config says where a Sink sends what it is told. The zero value sends nothing anywhere.
type Config struct {
	// Statsd is the DogStatsD receiver: host:port, or unix:///path of a datagram or stream socket (unixgram:// and
	// unixstream:// to insist on one). Empty: no metrics. The receiver may come and go at any time.
	Statsd string
	// Log gets the lines; nil: none. Its owner closes it, after the Sink.
	Log *Logger
}

// Sink is the Observer of a worker: it sends metrics to DogStatsD and writes log lines. Its methods are for many goroutines
// and never wait for a receiver. The nil Sink ignores what it is told.
type Sink struct {
	log    *Logger
	statsd *statsdClient
	names  names
	steps  *cache[stepKey, *stepMeter]
	calls  *cache[callKey, *callMeter]
	runs   *cache[runKey, *runMeter]
	tokens *cache[tokenKey, *tokenMeter]
	gauges gauges

	flushing sync.Mutex // one goroutine drains at a time
	told     int64      // dropped log lines that a metric told of; guarded by flushing
	closed   atomic.Bool
	stop     chan struct{}
	stopped  sync.WaitGroup
}

var _ Observer = (*Sink)(nil)

// New returns a Sink. The error is that of an address that cannot be one; a receiver that is not there is no error. The
// caller calls Close when the last step has been told.
func New(cfg Config) (*Sink, error) {
	client, err := newStatsdClient(cfg.Statsd)
	if err != nil {
		return nil, err
	}
	return newSink(client, cfg.Log), nil
}

func newSink(client *statsdClient, log *Logger) *Sink {
	s := &Sink{log: log, statsd: client, stop: make(chan struct{})}
	s.steps = newCache(stepKinds, s.newStepMeter)
	s.calls = newCache(callKinds, s.newCallMeter)
	s.runs = newCache(callKinds, s.newRunMeter)
	s.tokens = newCache(stepKinds, s.newTokenMeter)
	s.stopped.Go(s.flushRegularly)
	return s
}

// Flush sends what was gathered so far and returns when it is on its way, or after two seconds.
func (s *Sink) Flush() {
	if s.ended() {
		return
	}
	bounded(func() {
		s.drain()
		s.statsd.flush()
	})
}

// Close sends what was gathered and ends the Sink. It returns within two seconds, also when the receiver takes nothing; then
// what was not sent is lost. What is told to a closed Sink is not sent.
func (s *Sink) Close() {
	if s == nil || s.closed.Swap(true) {
		return
	}
	close(s.stop)
	bounded(func() {
		s.stopped.Wait()
		s.drain()
		s.statsd.close()
	})
}

// ended reports that nothing told to s will be sent any more.
func (s *Sink) ended() bool { return s == nil || s.closed.Load() }

// bounded runs f and returns when it has, or when the time for it is up: datadog-go writes what it holds to a stuck socket
// packet by packet, each with a time-out of its own, and has no way to be told to stop.
func bounded(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (s *Sink) flushRegularly() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.drain()
		case <-s.stop:
			return
		}
	}
}

// drain hands what was gathered to the client.
func (s *Sink) drain() {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.steps.drain(s.statsd)
	s.calls.drain(s.statsd)
	s.runs.drain(s.statsd)
	s.tokens.drain(s.statsd)
	s.gauges.send(s.statsd, &s.names)
	if n := s.log.dropped(); n > s.told {
		s.statsd.count("telemetry.dropped", n-s.told, []string{"part:log"})
		s.told = n
	}
	if n := s.statsd.takeDropped(); n > 0 {
		s.statsd.count("telemetry.dropped", n, []string{"part:metrics"})
	}
}

// Fleet sends what the worker says of itself.
func (s *Sink) Fleet(f Fleet) {
	if s.ended() {
		return
	}
	s.statsd.distribution("worker.busy", float64(f.Busy), nil)
	s.statsd.distribution("worker.slots", float64(f.Slots), nil)
	s.statsd.distribution("worker.strays", float64(f.Strays), nil)
	s.statsd.distribution("worker.parked", float64(f.Parked), nil)
	s.statsd.distribution("worker.goroutines", float64(runtime.NumGoroutine()), nil)
	s.gauges.strays(f.StraysByStep)
}

// BreakerChanged keeps count of open breakers and logs the change.
func (s *Sink) BreakerChanged(n provider.Name, model executor.ModelVersion, open bool) {
	if s.ended() {
		return
	}
	s.gauges.breaker(n, model, open)
	if open {
		s.log.Warn("breaker opened: the provider is not called for now", "provider", n, "model_version", model)
	} else {
		s.log.Info("breaker closed: the provider is called again", "provider", n, "model_version", model)
	}
}
