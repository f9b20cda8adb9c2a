package doorbell

import (
	"fmt"
	"strings"
)

// Logger takes fixed, content-free texts with pairs of a name and an identifier, enumeration, number, or an error, of which it
// shows the kind and never the text.
type Logger interface {
	Debug(msg string, kv ...any)
	Info(msg string, kv ...any)
	Warn(msg string, kv ...any)
	Error(msg string, kv ...any)
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// asynqLog says in fixed words what asynq says in free text: its lines quote errors, arguments and, of a panic, the value.
type asynqLog struct{ to Logger }

// leasesUnreadable is to be alerted on (docs/asynq.md).
const leasesUnreadable = "asynq cannot list lost deliveries: an entry may be damaged"

// sayings are the beginnings of asynq's warnings and errors, and what is logged for them.
var sayings = []struct{ begins, say string }{
	// D16: one damaged entry among the leases keeps all of the queue's lost rings from coming back. The runs' own sweeper
	// rings anew, so work goes on; the entry must be removed by hand.
	{"recoverer: could not list lease expired tasks", leasesUnreadable},
	{"recoverer:", "asynq could not take back a lost delivery"},
	{"Dequeue error", "asynq could not take a task"},
	{"Could not remove task", "asynq could not record a finished task, and will try again"},
	{"Could not move task", "asynq could not move a task, and will try again"},
	{"Could not push task", "asynq could not give a task back"},
	{"Failed to extend lease", "asynq could not extend leases"},
	{"Lease reset failed", "asynq found a lease already ended"},
	{"Failed to write server state", "asynq could not write its heartbeat"},
	{"Failed to clear server state", "asynq could not remove its heartbeat"},
	{"Failed to forward", "asynq could not look at delayed tasks"},
	{"Failed to delete expired completed tasks", "asynq could not clean up completed tasks"},
	{"cannot subscribe to cancelation channel", "asynq could not subscribe to cancelations"},
	{"Quitting worker", "asynq no longer waits for a task, and gives it back"},
	{"Retry exhausted", "asynq archives a task"},
	{"recovering from panic", "asynq recovered from a panic"},
}

func (l asynqLog) say(level func(string, ...any), args []any) {
	text := fmt.Sprint(args...)
	if strings.Contains(text, errParked.Error()) || strings.Contains(text, errNotTaken.Error()) {
		return // the taker's own words, for asynq only
	}
	for _, s := range sayings {
		if strings.HasPrefix(text, s.begins) {
			if s.say == leasesUnreadable {
				level = l.to.Error // asynq itself only warns
			}
			level(s.say)
			return
		}
	}
	level("asynq reports something unusual")
}

func (l asynqLog) Debug(...any)      {}
func (l asynqLog) Info(...any)       {}
func (l asynqLog) Warn(args ...any)  { l.say(l.to.Warn, args) }
func (l asynqLog) Error(args ...any) { l.say(l.to.Error, args) }
func (l asynqLog) Fatal(args ...any) { l.say(l.to.Error, args) }
