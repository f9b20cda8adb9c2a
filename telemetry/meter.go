package telemetry

import "sync"

// counter adds up one count metric between two flushes.
type counter struct {
	name string
	tags []string
	n    int64
}

// samples gathers the values of one distribution between two flushes.
type samples struct {
	name   string
	tags   []string
	values []float64
	spare  []float64 // the flusher's: what it sent last, to be filled again
}

// samplesKept is the room that a distribution keeps from one flush to the next; what a burst needed beyond it is given back.
const samplesKept = 1 << 14

// meter gathers the metrics of one combination of tags. Callers hold mu while they add; drain sends and resets.
type meter struct {
	mu     sync.Mutex
	dead   bool // drained for the last time: ask the cache for another
	counts []counter
	dists  []samples
}

// lock locks the meter, and reports false, unlocked, when it is dead.
func (m *meter) lock() bool {
	m.mu.Lock()
	if m.dead {
		m.mu.Unlock()
		return false
	}
	return true
}

func (m *meter) unlock()                     { m.mu.Unlock() }
func (m *meter) add(count int, n int64)      { m.counts[count].n += n }
func (m *meter) observe(dist int, v float64) { m.dists[dist].values = append(m.dists[dist].values, v) }

// drain sends what was gathered. Only one goroutine drains at a time; none waits for it but for a moment, since it sends
// after it has unlocked.
func (m *meter) drain(to sender, last bool) {
	m.mu.Lock()
	m.dead = m.dead || last
	sums := make([]int64, len(m.counts))
	for i := range m.counts {
		sums[i], m.counts[i].n = m.counts[i].n, 0
	}
	for i := range m.dists {
		d := &m.dists[i]
		d.values, d.spare = d.spare[:0], d.values
	}
	m.mu.Unlock()
	// The name and tags of what is there never change, and spare is the drainer's own.
	for i, n := range sums {
		if n != 0 {
			to.count(m.counts[i].name, n, m.counts[i].tags)
		}
	}
	for i := range m.dists {
		d := &m.dists[i]
		if len(d.spare) > 0 {
			to.samples(d.name, d.spare, d.tags)
		}
		if cap(d.spare) > samplesKept {
			d.spare = nil
		}
	}
}

// cached is what a cache keeps: a meter with whatever belongs to it.
type cached interface{ drain(to sender, last bool) }

// cache keeps one meter for each key. It is for many goroutines. When it holds as many as it may it starts anew, and what
// it held is drained once more before it dies; so its size is bounded whatever names come.
type cache[K comparable, M cached] struct {
	fresh func(K) M
	most  int

	mu      sync.RWMutex
	kept    map[K]M
	retired []M
}

func newCache[K comparable, M cached](most int, fresh func(K) M) *cache[K, M] {
	return &cache[K, M]{fresh: fresh, most: most, kept: map[K]M{}}
}

func (c *cache[K, M]) get(key K) M {
	c.mu.RLock()
	m, ok := c.kept[key]
	c.mu.RUnlock()
	if ok {
		return m
	}
	made := c.fresh(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.kept[key]; ok {
		return m
	}
	if len(c.kept) >= c.most {
		for _, m := range c.kept {
			c.retired = append(c.retired, m)
		}
		c.kept = map[K]M{}
	}
	c.kept[key] = made
	return made
}

// drain drains every meter, the retired ones for the last time.
func (c *cache[K, M]) drain(to sender) {
	c.mu.Lock()
	kept := make([]M, 0, len(c.kept))
	for _, m := range c.kept {
		kept = append(kept, m)
	}
	retired := c.retired
	c.retired = nil
	c.mu.Unlock()
	for _, m := range retired {
		m.drain(to, true)
	}
	for _, m := range kept {
		m.drain(to, false)
	}
}
