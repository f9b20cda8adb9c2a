package doorbell

// The keys of asynq v0.26 that are read here. Writing them is left to asynq's own client, server and inspector; the one
// exception is allQueues. TestKeysAreThoseOfThePinnedAsynq holds the names.

// allQueues is the set of queue names by which asynq's tools find queues.
const allQueues = "asynq:queues"

func queueKey(queue, what string) string { return "asynq:{" + queue + "}:" + what }

func taskKey(queue, id string) string { return queueKey(queue, "t:") + id }
