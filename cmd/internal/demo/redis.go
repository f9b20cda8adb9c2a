package demo

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// memoryRedis is a Redis in this process. It keeps nothing.
type memoryRedis struct {
	server *miniredis.Miniredis
	stop   chan struct{}
	ticks  sync.WaitGroup
}

func startRedis() (*memoryRedis, error) {
	m := &memoryRedis{server: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	if err := m.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("embedded Redis: %w", err)
	}
	m.ticks.Go(m.passTime)
	return m, nil
}

// passTime lets keys expire: miniredis has no clock of its own for that.
func (m *memoryRedis) passTime() {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case now := <-ticker.C:
			m.server.FastForward(now.Sub(last))
			last = now
		case <-m.stop:
			return
		}
	}
}

func (m *memoryRedis) client() redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: m.server.Addr(), ReadTimeout: 2 * time.Second, ContextTimeoutEnabled: true})
}

func (m *memoryRedis) close() {
	close(m.stop)
	m.ticks.Wait()
	m.server.Close()
}
