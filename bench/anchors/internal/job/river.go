package job

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverQueue is River on PostgreSQL: a worker inserts the next step of its chain.
type riverQueue struct{}

type riverArgs struct {
	Left int `json:"left"`
}

// Kind names the job.
func (riverArgs) Kind() string { return "step" }

type riverProducer struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

func (riverQueue) Producer(s Spec, _ *Tally) (Producer, error) {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, s.Postgres)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quietLog()})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quietLog()})
	if err != nil {
		return nil, err
	}
	return &riverProducer{pool, client}, nil
}

func quietLog() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (p *riverProducer) Submit(ctx context.Context, r Run) error {
	_, err := p.client.Insert(ctx, riverArgs{Left: r.Steps}, nil)
	return err
}

func (p *riverProducer) Close() { p.pool.Close() }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	tally *Tally
}

// Work is a step.
func (w *riverWorker) Work(ctx context.Context, j *river.Job[riverArgs]) error {
	if err := w.tally.work(ctx); err != nil {
		return err
	}
	if j.Args.Left == 1 {
		w.tally.finish()
		return nil
	}
	_, err := river.ClientFromContext[pgx.Tx](ctx).Insert(ctx, riverArgs{j.Args.Left - 1}, nil)
	return err
}

func (riverQueue) Work(ctx context.Context, s Spec, t *Tally, ready func()) error {
	pool, err := pgxpool.New(ctx, s.Postgres)
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{tally: t})
	c := &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.Slots}}, Workers: workers, Logger: quietLog(),
		FetchPollInterval: s.Poll,
	}
	if s.Poll > 0 {
		c.FetchCooldown = max(time.Millisecond, s.Poll/10)
	}
	client, err := river.NewClient(riverpgxv5.New(pool), c)
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return client.StopAndCancel(stop)
}
