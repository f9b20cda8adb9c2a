package tasks

import (
	"context"

	"fourfold/tasks/internal/doorbell"
)

// PauseQueue keeps workers from taking steps of the queue, until ResumeQueue. Steps in flight go on, and so does the chain of
// steps that a worker is in the middle of; runs may still be submitted. The empty name is DefaultQueue. Pausing twice changes
// nothing. Errors: ErrQueueName, those of Redis.
func (c *Client) PauseQueue(ctx context.Context, queue string) error {
	queue = queueOr(queue)
	if !queueName.MatchString(queue) {
		return ErrQueueName
	}
	return doorbell.Pause(ctx, c.rdb, queue)
}

// ResumeQueue ends a pause, whoever made it. The empty name is DefaultQueue. Errors: ErrQueueName, those of Redis.
func (c *Client) ResumeQueue(ctx context.Context, queue string) error {
	queue = queueOr(queue)
	if !queueName.MatchString(queue) {
		return ErrQueueName
	}
	return doorbell.Resume(ctx, c.rdb, queue)
}

// DiscardArchived removes the tasks that could not be handled, which QueueStatus.Archived counts, and says how many there
// were. No run depends on them. The empty name is DefaultQueue. Errors: ErrQueueName, those of Redis.
func (c *Client) DiscardArchived(ctx context.Context, queue string) (int, error) {
	queue = queueOr(queue)
	if !queueName.MatchString(queue) {
		return 0, ErrQueueName
	}
	if err := ctx.Err(); err != nil { // what asynq does takes no context
		return 0, err
	}
	return doorbell.Discard(c.rdb, queue)
}
