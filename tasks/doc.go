// Package tasks runs flows on a Redis queue: a Client submits runs and reads what came of them, Workers run their steps.
//
//	client, err := tasks.NewClient(tasks.ClientConfig{Redis: rdb})
//	run, err := client.Submit(ctx, tasks.Submission{Bundle: bundle, Input: content.New(json.RawMessage(`{"n":1}`))})
//	status, err := client.Wait(ctx, run, tasks.SinkValues)
//
//	worker, err := tasks.NewWorker(tasks.WorkerConfig{Redis: rdb, Queues: map[string]int{"default": 1}, Chains: chains})
//	err = worker.Run(ctx)
//
// A run's state is Fourfold's own and is changed by atomic scripts alone (internal/runstate); asynq is the doorbell that
// tells a worker where there is work (internal/doorbell). asynq delivers at least once and may lose a delivery; so a step
// that is done is never run again, however often it is delivered, and a step that nobody works on is rung for again
// (sweeper.go). The one point at which an answer may be paid for twice is a worker's death between the provider's answer
// and its recording.
//
// The way of a delivery: handle (runner.go) → begin, which claims the step, unless the script that took the delivery has done
// so; asynq then forgets it → prepare (execute.go) → workOn (stay.go), which starts the executor → complete, which settles the
// step, and answers what became runnable → relay (relay.go), which rings for it. Claims are extended in batches (claims.go);
// who loses one stops working.
package tasks
