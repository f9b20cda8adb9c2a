package telemetry

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/DataDog/datadog-go/v5/statsd"
)

// sender takes metrics. Its methods never wait for a receiver.
type sender interface {
	count(name string, n int64, tags []string)
	gauge(name string, v float64, tags []string)
	samples(name string, values []float64, tags []string)
}

const (
	// connectEvery is how often a receiver whose name cannot be resolved is tried again.
	connectEvery = 5 * time.Second
	// statsdBuffers are the packets kept for reuse; the library's own number would take 4 MiB from the start.
	statsdBuffers = 64
	// statsdQueue is how many packets wait for a slow receiver before packets are dropped: some five seconds of a busy worker.
	statsdQueue = 2048
	// statsdWorkers are the library's serialisers; values are added up before, so that two are plenty.
	statsdWorkers = 2
)

var socketPrefixes = []string{statsd.UnixAddressPrefix, statsd.UnixAddressDatagramPrefix, statsd.UnixAddressStreamPrefix}

// statsdClient is datadog-go with what it lacks: a receiver whose name does not resolve yet, and a count of what it dropped.
// The zero client sends nothing.
type statsdClient struct {
	client  atomic.Pointer[statsd.ClientDirect] // nil: not connected
	lost    atomic.Int64                        // payloads
	ending  sync.Mutex                          // held while the library flushes or closes: it cannot do both
	stop    chan struct{}
	stopped sync.WaitGroup
}

func newStatsdClient(addr string) (*statsdClient, error) {
	c := &statsdClient{stop: make(chan struct{})}
	if addr == "" {
		return c, nil
	}
	if err := checkStatsdAddr(addr); err != nil {
		return nil, err
	}
	if needsNoLookup(addr) && c.connect(addr) {
		return c, nil
	}
	c.stopped.Go(func() { c.connectLater(addr) })
	return c, nil
}

// needsNoLookup reports whether connecting asks no name server, which may take long to answer.
func needsNoLookup(addr string) bool {
	if strings.HasPrefix(addr, "unix") {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	return err == nil && net.ParseIP(host) != nil
}

// checkStatsdAddr says what is wrong with an address that can never work.
func checkStatsdAddr(addr string) error {
	for _, prefix := range socketPrefixes {
		if path, ok := strings.CutPrefix(addr, prefix); ok {
			if !strings.HasPrefix(path, "/") {
				return fmt.Errorf("statsd address: %s needs an absolute path", prefix)
			}
			return nil
		}
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return errors.New("statsd address must be host:port or unix:///path")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("statsd address: the port must be a number from 1 to 65535")
	}
	return nil
}

// connect makes the client; for a Unix socket that connects when it first sends, and again whenever the receiver has gone.
func (c *statsdClient) connect(addr string) bool {
	client, err := statsd.NewDirect(addr, c.options()...)
	if err != nil {
		return false
	}
	c.client.Store(client)
	return true
}

func (c *statsdClient) options() []statsd.Option {
	return []statsd.Option{
		statsd.WithNamespace(Namespace),
		statsd.WithExtendedClientSideAggregation(),
		statsd.WithAggregationInterval(flushEvery),
		statsd.WithBufferFlushInterval(packetEvery),
		statsd.WithWorkersCount(statsdWorkers),
		statsd.WithBufferPoolSize(statsdBuffers),
		statsd.WithSenderQueueSize(statsdQueue),
		statsd.WithoutTelemetry(), // telemetry.dropped says what matters of it
		statsd.WithErrorHandler(func(error) { c.lost.Add(1) }),
	}
}

func (c *statsdClient) connectLater(addr string) {
	ticker := time.NewTicker(connectEvery)
	defer ticker.Stop()
	for !c.connect(addr) {
		select {
		case <-ticker.C:
		case <-c.stop:
			return
		}
	}
}

func (c *statsdClient) count(name string, n int64, tags []string) {
	if client := c.client.Load(); client != nil {
		_ = client.Count(name, n, tags, 1) // fails for a nil client only
	}
}

func (c *statsdClient) gauge(name string, v float64, tags []string) {
	if client := c.client.Load(); client != nil {
		_ = client.Gauge(name, v, tags, 1)
	}
}

func (c *statsdClient) distribution(name string, v float64, tags []string) {
	if client := c.client.Load(); client != nil {
		_ = client.Distribution(name, v, tags, 1)
	}
}

// samples sends many values of a distribution at once. values may be reused when it returns.
func (c *statsdClient) samples(name string, values []float64, tags []string) {
	if client := c.client.Load(); client != nil {
		_ = client.DistributionSamples(name, values, tags, 1)
	}
}

// takeDropped returns how many payloads were lost since it was last called.
func (c *statsdClient) takeDropped() int64 { return c.lost.Swap(0) }

// flush returns when everything is written; that may take as long as the receiver likes. A closed client has nothing.
func (c *statsdClient) flush() {
	c.ending.Lock()
	defer c.ending.Unlock()
	if client := c.client.Load(); client != nil {
		_ = client.Flush()
	}
}

// close flushes and closes; like flush, it waits for the receiver. What is sent later is dropped.
func (c *statsdClient) close() {
	close(c.stop)
	c.stopped.Wait()
	c.ending.Lock()
	defer c.ending.Unlock()
	if client := c.client.Swap(nil); client != nil {
		_ = client.Close()
	}
}
