package doorbell

import (
	"context"
	"errors"
	"time"

	"github.com/hibiken/asynq"
)

// Delivery is a ring that has arrived, perhaps not for the first time.
type Delivery struct {
	Queue   string
	ID      string
	Payload []byte
	Headers map[string]string // as rung; nil: none
	Met     any               // what ServerConfig.AtTake said of it; nil: nothing
	MetAt   time.Time         // no later than that; zero: never
	Retried int               // deliveries before this one that asynq counts as failed; others are not counted
}

// Handler answers a delivery. It is called from many goroutines. Its context ends when the lease is lost, or when the
// server stops waiting for it (the cause is then ErrStopping): asynq may then deliver the ring to another worker while
// this one still runs, so it must return soon and change nothing that a second delivery would change too. A panic is
// recovered, only its type is kept, and the ring comes again.
type Handler func(ctx context.Context, d Delivery) Verdict

// ErrStopping is the cause of the end of a handler's context when a shutdown no longer waits.
var ErrStopping = errors.New("doorbell: the worker is stopping")

// Verdict is a handler's answer. The zero value is Again(0), so that a forgotten verdict loses nothing.
type Verdict struct {
	kind   verdictKind
	after  time.Duration
	reason Reason
	begin  func(*Stint)
}

type verdictKind uint8

const (
	again verdictKind = iota
	handled
	dropped
	rejected
	takenOver
)

// Handled says that the ring has done its work.
func Handled() Verdict { return Verdict{kind: handled} }

// Drop says that the ring was a duplicate: there was nothing left to do.
func Drop() Verdict { return Verdict{kind: dropped} }

// Again asks for another delivery after some time, to this worker or another; no retry is spent on it, however often. It
// comes up to two seconds later than asked, since asynq looks at its delayed tasks that often. While the server is
// stopping and no longer waits, the ring goes back to the head of its queue at once.
func Again(after time.Duration) Verdict { return Verdict{kind: again, after: max(0, after)} }

// GivesBack says whether the verdict is that of Again.
func (v Verdict) GivesBack() bool { return v.kind == again }

// Reject says that the ring can never be worked on. It is archived with the reason, where operators find it.
func Reject(reason Reason) Verdict { return Verdict{kind: rejected, reason: reason} }

// TakeOver says that the ring has done its work, because from now on somebody else than asynq knows what is to be done and
// by whom. begin is called in the handler's place, and when it returns asynq forgets the ring. What it has begun still counts
// as running, and takes one of the server's places, until Stint.End. Whoever takes over must give back himself what he does
// not finish. A panic of begin is recovered, and only its type is kept.
func TakeOver(begin func(*Stint)) Verdict { return Verdict{kind: takenOver, begin: begin} }

// Reason is why a ring was rejected: fixed words, never content, since asynq stores it and its tools show it. What is not
// made of lower-case letters, digits, blanks and hyphens, 64 at most, is stored as "rejected".
type Reason string

func (r Reason) text() string {
	if r == "" || len(r) > 64 {
		return "rejected"
	}
	for _, c := range r {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != ' ' && c != '-' {
			return "rejected"
		}
	}
	return string(r)
}

// newDelivery reads what asynq hands to a handler.
func newDelivery(ctx context.Context, task *asynq.Task) Delivery {
	queue, _ := asynq.GetQueueName(ctx)
	id, _ := asynq.GetTaskID(ctx)
	retried, _ := asynq.GetRetryCount(ctx)
	return Delivery{Queue: queue, ID: id, Payload: task.Payload(), Headers: task.Headers(), Retried: retried}
}
