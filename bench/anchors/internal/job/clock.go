package job

import (
	"container/heap"
	"sync"
	"time"
)

// clock ends steps that take their time, as exactly as the machine can: a call to a model ends when its answer comes. Go's own
// timers are up to a millisecond late in a process that has nothing else to do, since its poller waits whole milliseconds, and
// then all steps that are due within that end at once. So what was measured would be the timers, and bursts of their making.
type clock struct {
	alarm alarm

	mu  sync.Mutex
	due dues
}

// alarm rings once, some time after it was set last.
type alarm interface {
	set(after time.Duration) error
	wait() error
}

func startClock() (*clock, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	c := &clock{alarm: a}
	go c.run()
	return c, nil
}

// after returns a channel that is closed when d is over.
func (c *clock) after(d time.Duration) <-chan struct{} {
	x := due{time.Now().Add(d), make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if heap.Push(&c.due, x); c.due[0] == x {
		c.arm()
	}
	return x.over
}

func (c *clock) run() {
	for {
		if err := c.alarm.wait(); err != nil {
			panic(err) // no step would end any more
		}
		c.ring()
	}
}

func (c *clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for now := time.Now(); len(c.due) > 0 && !c.due[0].at.After(now); {
		x, _ := heap.Pop(&c.due).(due)
		close(x.over)
	}
	if len(c.due) > 0 {
		c.arm()
	}
}

// arm sets the alarm for the earliest. It is called under the lock.
func (c *clock) arm() {
	if err := c.alarm.set(max(time.Until(c.due[0].at), 1)); err != nil {
		panic(err)
	}
}

type due struct {
	at   time.Time
	over chan struct{}
}

// dues is a heap, the earliest first.
type dues []due

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d dues) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

func (d *dues) Push(x any) {
	next, _ := x.(due)
	*d = append(*d, next)
}

func (d *dues) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = (*d)[:last]
	return x
}
