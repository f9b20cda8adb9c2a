package doorbell

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// fakeRedis answers the commands of takers and listeners in memory, so that their waiting can be tried on a fake clock.
type fakeRedis struct {
	mu       sync.Mutex
	pending  map[string][]string
	paused   map[string]bool
	changed  chan struct{} // closed and replaced when something was pushed
	fails    error         // instead of every answer to a taker
	deaf     error         // instead of every answer to a listener
	asks     int
	listens  int
	atOnce   int // most asks in one round trip
	finished chan struct{}
	log      Logger // of the processes
}

func newFakeRedis(t *testing.T) *fakeRedis {
	f := &fakeRedis{pending: map[string][]string{}, paused: map[string]bool{}, changed: make(chan struct{}), finished: make(chan struct{}), log: silent{}}
	t.Cleanup(func() { close(f.finished) })
	return f
}

// client returns a client that is answered here and never dials.
func (f *fakeRedis) client() *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: "nowhere:0", MaxRetries: -1, MaintNotificationsConfig: noHandover()})
	rdb.AddHook(f)
	return rdb
}

func (f *fakeRedis) push(queue string, ids ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[queue] = append(f.pending[queue], ids...)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeRedis) pause(queue string, paused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused[queue] = paused
}

func (f *fakeRedis) counts() (asks, listens, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ids := range f.pending {
		left += len(ids)
	}
	return f.asks, f.listens, left
}

func (f *fakeRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *fakeRedis) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		f.mu.Lock()
		f.atOnce = max(f.atOnce, len(cmds))
		f.mu.Unlock()
		for _, cmd := range cmds {
			cmd.SetErr(f.answer(cmd))
		}
		return nil
	}
}

func (f *fakeRedis) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return f.answer(cmd) }
}

func (f *fakeRedis) answer(cmd redis.Cmder) error {
	if cmd.Name() == "blmove" {
		return f.listen(cmd.Args()[1].(string))
	}
	a, ok := parseAsk(cmd)
	if !ok {
		return errors.New("the fake knows no such command")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks++
	ids := f.pending[a.queue]
	switch {
	case f.fails != nil:
		return f.fails
	case f.paused[a.queue] || len(ids) == 0:
		return redis.Nil
	}
	f.pending[a.queue] = ids[1:]
	if once, ok := cmd.(once); ok {
		once.SetVal(ids[0])
		return nil
	}
	cmd.(*redis.Cmd).SetVal(ids[0])
	return nil
}

// listen is BLMOVE from a list to itself.
func (f *fakeRedis) listen(key string) error {
	queue := strings.TrimSuffix(strings.TrimPrefix(key, "asynq:{"), "}:pending")
	over := time.NewTimer(listenFor)
	defer over.Stop()
	f.mu.Lock()
	f.listens++
	f.mu.Unlock()
	for {
		f.mu.Lock()
		found, changed, deaf := len(f.pending[queue]) > 0, f.changed, f.deaf
		f.mu.Unlock()
		switch {
		case deaf != nil:
			return deaf
		case found:
			return nil
		}
		select {
		case <-changed:
		case <-over.C:
			return redis.Nil
		case <-f.finished:
			return redis.ErrClosed
		}
	}
}

// process is one process of takers, each driven as asynq drives it.
type process struct {
	yard   *yard
	takers []*taker
	taken  chan string
	done   sync.WaitGroup
}

// newProcess starts takers on the fake; every task takes the given time.
func newProcess(f *fakeRedis, queues []string, p patience, servers, slots int, busy time.Duration) *process {
	proc := &process{yard: newYard(f.client(), queues, silent{}), taken: make(chan string, 1_000_000)}
	proc.yard.open()
	for i := range servers {
		k := newTaker(f.client(), proc.yard, p.of(i), len(queues), slots, f.log)
		proc.takers = append(proc.takers, k)
		proc.done.Go(func() { proc.drive(k, queues, busy) })
	}
	return proc
}

// drive asks as asynq's processor does: a free slot first, then each queue in turn, and a sleep when all were empty.
func (p *process) drive(k *taker, queues []string, busy time.Duration) {
	slots := make(chan struct{}, k.places.slots)
	for !p.yard.closed() {
		slots <- struct{}{}
		id, err := "", error(redis.Nil)
		for _, queue := range queues {
			if id, err = askFor(k, queue); !errors.Is(err, redis.Nil) {
				break
			}
		}
		if err != nil {
			if errors.Is(err, redis.Nil) {
				time.Sleep(pollInterval)
			}
			<-slots
			continue
		}
		p.done.Go(func() {
			k.places.occupy()
			time.Sleep(busy)
			p.taken <- id
			k.places.free()
			<-slots
		})
	}
}

func (p *process) stop() {
	p.yard.shut()
	p.done.Wait()
}

// askFor asks a taker as asynq's Dequeue does.
func askFor(k *taker, queue string) (string, error) {
	cmd := redis.NewCmd(context.Background(), askArgs(queue)...)
	a, ok := parseAsk(cmd)
	if !ok {
		panic("the test asks in another way than asynq")
	}
	err := k.take(context.Background(), cmd, a)
	id, _ := cmd.Val().(string)
	return id, err
}

func askArgs(queue string) []any {
	return []any{
		"evalsha", "cafe", 4, queueKey(queue, "pending"), queueKey(queue, "paused"), queueKey(queue, "active"), queueKey(queue, "lease"),
		time.Now().Add(30 * time.Second).Unix(), taskKey(queue, ""),
	}
}
