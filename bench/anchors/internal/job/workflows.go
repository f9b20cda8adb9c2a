package job

import (
	"context"
	"io"
	"log/slog"

	"github.com/cschleiden/go-workflows/backend"
	wfredis "github.com/cschleiden/go-workflows/backend/redis"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/registry"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// workflows is cschleiden/go-workflows on Redis: durable execution by replay. Its pollers and cache are tuned; see
// workflowOptions.
type workflows struct{}

const workflowName = "chain"

type workflowProducer struct {
	rdb    redis.UniversalClient
	client *client.Client
}

func workflowBackend(rdb redis.UniversalClient) (backend.Backend, error) {
	return wfredis.NewRedisBackend(rdb, wfredis.WithBackendOptions(backend.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))))
}

func (workflows) Producer(s Spec, t *Tally) (Producer, error) {
	rdb := connect(s, t, 0)
	b, err := workflowBackend(rdb)
	if err != nil {
		return nil, err
	}
	return &workflowProducer{rdb, client.New(b)}, nil
}

func (p *workflowProducer) Submit(ctx context.Context, r Run) error {
	_, err := p.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: uuid.NewString()}, workflowName, r.Steps)
	return err
}

func (p *workflowProducer) Close() { p.rdb.Close() }

// workflowPollers: from 4 to 16 little changes; fewer and more serve worse.
const workflowPollers = 8

func workflowOptions(slots int) *worker.Options {
	o := worker.DefaultOptions
	o.WorkflowPollers, o.ActivityPollers = workflowPollers, workflowPollers
	o.WorkflowPollingInterval, o.ActivityPollingInterval = 0, 0 // its Redis backend waits in Redis
	o.WorkflowExecutorCacheSize = 10_000
	o.MaxParallelActivityTasks = slots
	return &o
}

func (workflows) Work(ctx context.Context, s Spec, t *Tally, ready func()) error {
	rdb := connect(s, t, 4*workflowPollers) // a poller holds a connection
	defer rdb.Close()
	b, err := workflowBackend(rdb)
	if err != nil {
		return err
	}
	w := worker.New(b, workflowOptions(s.Slots))
	does := workflowJob{t}
	if err := w.RegisterWorkflow(does.Chain, registry.WithName(workflowName)); err != nil {
		return err
	}
	if err := w.RegisterActivity(does.Step); err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	return w.WaitForCompletion()
}

type workflowJob struct{ tally *Tally }

// Chain is the workflow.
func (w workflowJob) Chain(ctx workflow.Context, steps int) error {
	for left := steps; left > 0; left-- {
		if _, err := workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, w.Step, left).Get(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Step is the activity.
func (w workflowJob) Step(ctx context.Context, left int) (int, error) {
	if err := w.tally.work(ctx); err != nil {
		return 0, err
	}
	if left == 1 {
		w.tally.finish()
	}
	return 1, nil
}
