package job

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// bareAsynq is asynq as it is published: a handler enqueues the next step of its chain. There is no state, no outcome and
// no join; several servers in one process are the one tuning that lifts it, and Spec.Woken what
// lets a step be taken at once.
type bareAsynq struct{}

const asynqType = "step"

type asynqProducer struct {
	rdb    redis.UniversalClient
	client *asynq.Client
}

func (bareAsynq) Producer(s Spec, t *Tally) (Producer, error) {
	rdb := connect(s, t, 0)
	return &asynqProducer{rdb, asynq.NewClientFromRedisClient(rdb)}, nil
}

func (p *asynqProducer) Submit(ctx context.Context, r Run) error {
	return enqueue(ctx, p.client, r.Queue, r.Steps, r.Input)
}

func (p *asynqProducer) Close() { p.rdb.Close() }

// enqueue puts a chain's step into the queue: with left, itself included, to go.
func enqueue(ctx context.Context, c *asynq.Client, queue string, left, size int) error {
	payload := make([]byte, max(size, 8))
	binary.BigEndian.PutUint64(payload, uint64(left))
	_, err := c.EnqueueContext(ctx, asynq.NewTask(asynqType, payload), asynq.Queue(queue))
	return err
}

func (bareAsynq) Work(ctx context.Context, s Spec, t *Tally, ready func()) error {
	queues := map[string]int{}
	for _, q := range s.Queues {
		queues[q] = 1
	}
	servers := s.Servers
	if servers == 0 {
		servers = 4
	}
	var all []*asynq.Server
	for range max(1, s.Workers) * servers {
		rdb := connect(s, t, 0)
		defer rdb.Close()
		client := asynq.NewClientFromRedisClient(rdb)
		if s.Woken {
			listens := rdb
			rdb = connect(s, t, 0)
			defer rdb.Close()
			rdb.AddHook(woken{listens})
		}
		server := asynq.NewServerFromRedisClient(rdb, asynq.Config{
			Concurrency: max(1, s.Slots/servers), Queues: queues, TaskCheckInterval: s.Poll, LogLevel: asynq.FatalLevel, ShutdownTimeout: 1,
		})
		if err := server.Start(asynqHandler(client, t)); err != nil {
			return err
		}
		all = append(all, server)
	}
	ready()
	<-ctx.Done()
	var wg sync.WaitGroup
	for _, server := range all {
		wg.Go(server.Shutdown)
	}
	wg.Wait()
	return nil
}

func asynqHandler(client *asynq.Client, t *Tally) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		if err := t.work(ctx); err != nil {
			return err
		}
		payload := task.Payload()
		left := int(binary.BigEndian.Uint64(payload)) - 1
		if left == 0 {
			t.finish()
			return nil
		}
		queue, _ := asynq.GetQueueName(ctx)
		return enqueue(ctx, client, queue, left, len(payload))
	})
}
