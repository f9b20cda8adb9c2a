package tasks

import (
	"encoding/json"

	"fourfold/executor"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// DoneTask is the type of the asynq task that Submission.OnDone asks for.
const DoneTask = "fourfold:done"

// DoneNotice is the payload of a DoneTask, as JSON: a reference to the status document, not the document. It arrives at
// least once, under a W3C traceparent header when the run belongs to a trace.
type DoneNotice struct {
	Run        RunID            `json:"run"`
	Generation int              `json:"generation"` // from 1; a rerun makes the next
	Outcome    executor.Outcome `json:"outcome"`
}

func doneRing(o runstate.Order, headers map[string]string) doorbell.Ring {
	run, _ := ParseRunID(o.Run)
	body, _ := json.Marshal(DoneNotice{run, o.Generation, o.Marker.Outcome}) // cannot fail: identifiers and a number
	return doorbell.Ring{Queue: o.OnDone, ID: o.Member(), Type: DoneTask, Payload: body, Headers: headers}
}
