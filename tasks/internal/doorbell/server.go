package doorbell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// ServerConfig is what a Server is made from: Redis, Queues and Handler are required.
type ServerConfig struct {
	Redis       redis.UniversalClient // copied, with connections of its own; it stays the caller's, and open until Shutdown has returned
	Queues      map[string]int        // name: weight, at least 1
	Handler     Handler
	Concurrency int           // handlers at a time; zero: 100
	Servers     int           // asynq servers that share the concurrency; zero: one for each 16, at most 2
	Drain       time.Duration // how long Shutdown waits for handlers; zero: 25s
	OnRejected  func(Delivery, Reason)
	AtTake      *AtTake // nil: rings are taken and no more
	// Scripts is a client of NewScriptClient's for all but taking and listening, which the caller shares and closes after
	// Shutdown; nil: one of its own.
	Scripts redis.UniversalClient
	Logger  Logger // nil: silent

	recognise func(redis.Cmder) (ask, bool) // nil: parseAsk
	patience  patience                      // zero: defaultPatience
}

const (
	defaultConcurrency = 100
	defaultDrain       = 25 * time.Second
	// One asynq server takes tasks in a single loop. A second lifts that limit; a third brings nothing, since takers take many at
	// a time, and costs a connection and a heartbeat.
	concurrencyPerServer = 16
	mostServers          = 2
	// giveBack is how long asynq waits beyond Drain: handlers whose context has just ended return within it, so that a ring
	// is back in its queue only when nobody works on it any more.
	giveBack = time.Second
	// longestHandOut bounds the wait for tasks that were taken and not yet handed to asynq.
	longestHandOut = 2 * time.Second
	// pollInterval is how often an idle asynq server looks when its taking script is not recognised.
	pollInterval = 200 * time.Millisecond
	// delayedInterval is how often delayed rings (Again) are looked at; rareInterval is for all servers but the first of a
	// process, since one is enough and each look costs two scripts a queue.
	delayedInterval = 2 * time.Second
	rareInterval    = time.Minute
)

// Server takes rings from the queues and hands them to the handler: several asynq servers in one process, which share
// the waiting for work and the sending of scripts. Make it with NewServer, then Start, then Shutdown.
type Server struct {
	config   ServerConfig
	handling *handling
	yard     *yard
	keeper   *keeper
	takers   []*taker
	servers  []*asynq.Server
	clients  []redis.UniversalClient // closed at the end

	drain  sync.Once
	down   sync.Once
	result Result
}

// NewServer checks the configuration and touches nothing yet.
func NewServer(config ServerConfig) (*Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.fill()
	s := &Server{config: config, handling: newHandling(config)}
	if err := s.assemble(); err != nil {
		s.closeClients()
		return nil, err
	}
	return s, nil
}

// assemble makes the clients, each for its purpose, and the servers.
func (s *Server) assemble() error {
	queues := slices.Sorted(maps.Keys(s.config.Queues))
	takes, err := s.client(taking(s.config.Servers))
	if err != nil {
		return err
	}
	listens, err := clone(s.config.Redis, listening(len(queues)))
	if err != nil {
		return err
	}
	s.yard = newYard(listens, queues, s.config.Logger)
	scripts := s.config.Scripts
	if scripts == nil {
		if scripts, err = NewScriptClient(s.config.Redis); err != nil {
			return err
		}
		s.clients = append(s.clients, scripts)
	}
	s.keeper = newKeeper(scripts, queues, s.config.Logger)
	for i := range s.config.Servers {
		own, err := s.client(steady)
		if err != nil {
			return err
		}
		slots := share(s.config.Concurrency, s.config.Servers, i)
		k := newTaker(takes, s.yard, s.config.patience.of(i), len(queues), slots, s.config.Logger)
		k.atTake = s.config.AtTake
		own.AddHook(&serverHook{recognise: s.config.recognise, taker: k, scripts: scripts})
		s.takers = append(s.takers, k)
		s.servers = append(s.servers, asynq.NewServerFromRedisClient(own, s.asynqConfig(i, slots)))
	}
	return nil
}

// client returns a copy that is closed with the server.
func (s *Server) client(t tuning) (redis.UniversalClient, error) {
	rdb, err := clone(s.config.Redis, t)
	if err == nil {
		s.clients = append(s.clients, rdb)
	}
	return rdb, err
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
	if c.recognise == nil {
		c.recognise = parseAsk
	}
	if c.patience == (patience{}) {
		c.patience = defaultPatience
	}
}

// asynqConfig is that of the i-th server. The first of a process does what one server is enough for.
func (s *Server) asynqConfig(i, slots int) asynq.Config {
	c := asynq.Config{
		Concurrency:              slots,
		Queues:                   s.config.Queues,
		TaskCheckInterval:        pollInterval,
		DelayedTaskCheckInterval: delayedInterval,
		ShutdownTimeout:          s.config.Drain + giveBack,
		RetryDelayFunc:           s.handling.delay,
		IsFailure:                s.handling.isFailure,
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
	s.yard.open()
	s.keeper.start()
	for i, srv := range s.servers {
		if err := srv.Start(s.handling.of(s.takers[i])); err != nil {
			return err
		}
	}
	return nil
}

// Poke says that a queue has got something, so that an idle server looks at once even where listening does not work. It
// never blocks; a queue that the server does not serve is ignored.
func (s *Server) Poke(queue string) { s.yard.poke(queue) }

// Running is how many handlers run, those included that asynq no longer waits for.
func (s *Server) Running() int { return s.handling.running() }

// Drain stops taking rings; handlers go on. It returns when no more will be taken. It may be called more than once.
func (s *Server) Drain() {
	s.drain.Do(func() {
		s.handling.drain()
		s.yard.shut()
		s.handOut()
		s.each((*asynq.Server).Stop)
	})
}

// handOut lets asynq have what the takers have taken ahead. There are free slots for all of it, so this is quick; only a
// Redis that stalls can be in the way, and then the sweeper brings the rest back.
func (s *Server) handOut() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range int(longestHandOut / time.Millisecond) {
		if !slices.ContainsFunc(s.takers, func(k *taker) bool { return !k.handedOut() }) {
			return
		}
		<-tick.C
	}
}

// Result says what became of the handlers that were running when the server began to drain.
type Result struct {
	Finished  int // answered Handled, Drop or Reject
	Requeued  int // gave their ring back for another worker
	Abandoned int // still run; asynq gives their rings to another worker all the same
}

// Shutdown drains, waits up to ServerConfig.Drain for the handlers, then ends their contexts with ErrStopping, gives what
// is left back to the heads of the queues, and closes the connections. All of it takes up to Drain and two seconds. When
// ctx ends before, the handlers' contexts end at once, and what is left comes again after a delay. A second call waits for
// the first, and returns the same. The server cannot be started again.
func (s *Server) Shutdown(ctx context.Context) Result {
	s.down.Do(func() {
		s.Drain()
		s.end(ctx)
		s.result = s.handling.result()
		s.keeper.close()
		s.yard.close()
		s.closeClients()
	})
	return s.result
}

// end waits for the handlers and for asynq.
func (s *Server) end(ctx context.Context) {
	begun := time.Now()
	late := time.AfterFunc(s.config.Drain, func() { s.handling.abort(true) })
	defer late.Stop()
	down := make(chan struct{})
	go func() {
		defer close(down)
		s.each((*asynq.Server).Shutdown)
		empty := s.handling.emptied()
		left := time.NewTimer(time.Until(begun.Add(s.config.Drain + giveBack)))
		defer left.Stop()
		select { // of what was taken over, asynq knows nothing
		case <-empty:
		case <-left.C:
		}
	}()
	select {
	case <-down:
	case <-ctx.Done():
		late.Stop()
		s.handling.abort(false)
		sleep(down, giveBack)
	}
}

func (s *Server) each(do func(*asynq.Server)) {
	var wg sync.WaitGroup
	for _, srv := range s.servers {
		wg.Go(func() { do(srv) })
	}
	wg.Wait()
}

func (s *Server) closeClients() {
	for _, rdb := range s.clients {
		rdb.Close()
	}
}
