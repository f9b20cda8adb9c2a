package doorbell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// ServerConfig: Redis, Queues and Handler are required.
type ServerConfig struct {
	Redis       redis.UniversalClient // copied, with connections of its own; it stays the caller's
	Queues      map[string]int        // name: weight, at least 1
	Handler     Handler
	Concurrency int           // handlers at a time; zero: 100
	Servers     int           // asynq servers that share the concurrency; zero: one for each 16, at most 4
	Drain       time.Duration // how long Shutdown waits for handlers; zero: 25s
	OnRejected  func(Delivery, Reason)
	Logger      Logger // nil: silent
}

const (
	defaultConcurrency = 100
	defaultDrain       = 25 * time.Second
	// One asynq server takes tasks in a single loop, about 13,500 a second here. Further servers lift that; a fifth
	// brought nothing.
	concurrencyPerServer = 16
	mostServers          = 4
	// giveBack is how long asynq waits beyond Drain: handlers whose context has just ended return within it, so that a ring
	// is back in its queue only when nobody works on it any more.
	giveBack = time.Second
	// pollInterval is how often an idle asynq server looks when the parking hook does not apply to it.
	pollInterval = 200 * time.Millisecond
	// delayedInterval is how often delayed rings (Again) are looked at; rareInterval is for all servers but the first of a
	// process, since one is enough and each look costs two scripts a queue.
	delayedInterval = 2 * time.Second
	rareInterval    = time.Minute
)

// Server takes rings from the queues and hands them to the handler. Make it with NewServer, then Start, then Shutdown.
type Server struct {
	config  ServerConfig
	handler *handling
	servers []*asynq.Server
	clients []redis.UniversalClient

	drain sync.Once
}

// NewServer checks the configuration and touches nothing yet.
func NewServer(config ServerConfig) (*Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.fill()
	s := &Server{config: config, handler: newHandling(config)}
	for i := range config.Servers {
		rdb, err := clone(config.Redis, steady)
		if err != nil {
			s.close()
			return nil, err
		}
		s.clients = append(s.clients, rdb)
		s.servers = append(s.servers, asynq.NewServerFromRedisClient(rdb, s.asynqConfig(i)))
	}
	return s, nil
}

func (c *ServerConfig) check() error {
	if c.Redis == nil || c.Handler == nil || len(c.Queues) == 0 {
		return errors.New("doorbell: Redis, Queues and Handler are required")
	}
	for queue, weight := range c.Queues {
		if queue == "" || strings.ContainsAny(queue, "{}") || weight < 1 {
			return fmt.Errorf("doorbell: queue %q with weight %d: a name without braces and a weight of at least 1 are needed", queue, weight)
		}
	}
	return nil
}

func (c *ServerConfig) fill() {
	c.Queues = maps.Clone(c.Queues)
	if c.Concurrency <= 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.Servers <= 0 {
		c.Servers = min(mostServers, (c.Concurrency+concurrencyPerServer-1)/concurrencyPerServer)
	}
	c.Servers = min(c.Servers, c.Concurrency)
	if c.Drain <= 0 {
		c.Drain = defaultDrain
	}
	if c.Logger == nil {
		c.Logger = silent{}
	}
}

// asynqConfig is that of the i-th server. The first of a process does what one server is enough for.
func (s *Server) asynqConfig(i int) asynq.Config {
	c := asynq.Config{
		Concurrency:              share(s.config.Concurrency, s.config.Servers, i),
		Queues:                   s.config.Queues,
		TaskCheckInterval:        pollInterval,
		DelayedTaskCheckInterval: delayedInterval,
		ShutdownTimeout:          s.config.Drain + giveBack,
		RetryDelayFunc:           s.handler.delay,
		IsFailure:                s.handler.isFailure,
		Logger:                   asynqLog{s.config.Logger},
		LogLevel:                 asynq.WarnLevel,
	}
	if i > 0 {
		c.DelayedTaskCheckInterval, c.JanitorInterval = rareInterval, rareInterval
	}
	return c
}

// share splits n as evenly as whole numbers can.
func share(n, parts, i int) int {
	if i < n%parts {
		return n/parts + 1
	}
	return n / parts
}

// Start begins to take rings. It does not wait for Redis: while Redis is out of reach, the server keeps trying. It may be
// called once.
func (s *Server) Start() error {
	for _, srv := range s.servers {
		if err := srv.Start(asynq.HandlerFunc(s.handler.process)); err != nil {
			return err
		}
	}
	return nil
}

// Poke says that a queue may have something, so that an idle server looks at once. It never blocks.
func (s *Server) Poke(string) {}

// Drain stops taking rings; handlers go on. It returns when no more will be taken. It may be called more than once.
func (s *Server) Drain() {
	s.drain.Do(func() {
		s.handler.drain()
		s.each((*asynq.Server).Stop)
	})
}

// Result says what became of the handlers that were running when the server began to drain.
type Result struct {
	Finished  int // answered Handled, Drop or Reject
	Requeued  int // gave their ring back for another worker
	Abandoned int // still run; asynq gives their rings to another worker all the same
}

// Shutdown drains, waits up to ServerConfig.Drain for the handlers, then ends their contexts with ErrStopping, gives what
// is left back to the heads of the queues, and closes the connections. When ctx ends before, it no longer waits. It is
// called once, after Start; the server cannot be started again.
func (s *Server) Shutdown(ctx context.Context) Result {
	s.Drain()
	late := time.AfterFunc(s.config.Drain, func() { s.handler.abort(true) })
	defer late.Stop()
	down := make(chan struct{})
	go func() {
		defer close(down)
		s.each((*asynq.Server).Shutdown)
	}()
	select {
	case <-down:
	case <-ctx.Done():
		late.Stop()
		s.handler.abort(false)
		sleep(down, giveBack)
	}
	result := s.handler.result()
	s.close()
	return result
}

// Running is how many handlers run.
func (s *Server) Running() int { return s.handler.running() }

func (s *Server) each(do func(*asynq.Server)) {
	var wg sync.WaitGroup
	for _, srv := range s.servers {
		wg.Go(func() { do(srv) })
	}
	wg.Wait()
}

func (s *Server) close() {
	for _, rdb := range s.clients {
		rdb.Close()
	}
}
