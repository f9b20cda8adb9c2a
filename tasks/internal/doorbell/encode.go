package doorbell

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"fourfold/tasks/internal/lua"
)

// taskType is the asynq type of the rings that a Server takes.
const taskType = "fourfold:step"

// maxRetry is how often asynq may count a delivery as failed before it archives the ring. Only panics of the handler and
// unknown task types count (see failed), so it is never reached by work that is merely slow, busy or cut short (D5).
const maxRetry = 25

// call is one ring as asynq's client would send it.
type call struct {
	script *redis.Script
	words  []any // its keys, then its arguments
	keys   int
	queue  string
	at     int // position among the rings handed to Ring
}

// command is the call by the script's name.
func (c *call) command(ctx context.Context) *redis.Cmd {
	words := make([]any, 0, askedKeys+len(c.words))
	cmd := redis.NewCmd(ctx, append(append(words, "evalsha", c.script.Hash(), c.keys), c.words...)...)
	cmd.SetFirstKeyPos(askedKeys) // a cluster's client goes by it
	return cmd
}

// inFull is the call to a server that does not know the script.
func (c *call) inFull(ctx context.Context, rdb redis.Scripter) error {
	keys := make([]string, c.keys)
	for i := range keys {
		keys[i], _ = c.words[i].(string)
	}
	return c.script.Eval(ctx, rdb, keys, c.words[c.keys:]...).Err()
}

// encoder lets asynq's own client write rings without sending them. That client works on a go-redis client whose hook
// answers instead of the network and keeps the command; so the message format, the key names and the script stay asynq's
// business, and many rings can share one pipeline, which v0.26's client cannot do.
type encoder struct {
	client *asynq.Client
	mu     sync.Mutex
	source string        // of asynq's script; empty: not learnt yet
	known  *redis.Script // the same
	ahead  *redis.Script // the same, for a ring that goes ahead of the others
	forms  forms
}

func newEncoder() *encoder {
	offline := redis.NewClient(&redis.Options{
		MaintNotificationsConfig: noHandover(), // which would leave a goroutine behind
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network here") },
	})
	offline.AddHook(captureHook{})
	return &encoder{client: asynq.NewClientFromRedisClient(offline)}
}

// errNoCapture means that asynq's client did not do what v0.26 does: one script per enqueue.
var errNoCapture = errors.New("this version of asynq enqueues in an unknown way")

func (e *encoder) encode(ctx context.Context, ring Ring, timeout time.Duration) (*call, error) {
	ask := func(ring Ring) (*call, error) { return e.ask(ctx, ring, timeout) }
	var c *call
	if form := e.forms.of(ring, timeout, ask); form != nil {
		c = form.fill(ring)
	} else {
		var err error
		if c, err = ask(ring); err != nil {
			return nil, err
		}
	}
	if ring.Ahead && c.keys > 1 && c.words[1] == any(queueKey(ring.Queue, "pending")) {
		c.script = e.ahead // which was learnt with the first message
	}
	return c, nil
}

// aheadLua follows asynq's script as a function, which puts a new task at the end of the queue.
const aheadLua = `
local new = post(KEYS, ARGV)
if new == 1 then redis.call('LMOVE', KEYS[2], KEYS[2], 'LEFT', 'RIGHT') end
return new
`

// ask asks asynq what it would send.
func (e *encoder) ask(ctx context.Context, ring Ring, timeout time.Duration) (*call, error) {
	got := &capture{}
	if err := e.enqueue(ctx, got, ring, timeout); err != nil {
		return nil, err
	}
	script, err := e.script(ctx, got, ring, timeout)
	if err != nil {
		return nil, err
	}
	c := &call{script: script, keys: len(got.keys), queue: ring.Queue}
	for _, key := range got.keys {
		c.words = append(c.words, key)
	}
	c.words = append(c.words, got.args...)
	return c, nil
}

// enqueue hands the ring to asynq's client. Timeout, not Deadline: past a deadline asynq would no longer deliver (D7).
// No retention: the run's state makes a second delivery harmless, so a finished ID may be taken again.
func (e *encoder) enqueue(ctx context.Context, into *capture, ring Ring, timeout time.Duration) error {
	_, err := e.client.EnqueueContext(context.WithValue(ctx, captureKey{}, into),
		asynq.NewTaskWithHeaders(cmp.Or(ring.Type, taskType), ring.Payload, ring.Headers),
		asynq.Queue(ring.Queue), asynq.TaskID(ring.ID), asynq.MaxRetry(maxRetry), asynq.Timeout(timeout))
	return err
}

// script returns the script whose SHA-1 was captured: asynq has one for all rings. Its text is learnt once, by pretending
// that the server lacks it.
func (e *encoder) script(ctx context.Context, got *capture, ring Ring, timeout time.Duration) (*redis.Script, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil {
		lesson := &capture{learn: true}
		if err := e.enqueue(ctx, lesson, ring, timeout); err != nil {
			return nil, err
		}
		e.source, e.known = lesson.source, redis.NewScript(lesson.source)
		e.ahead = redis.NewScript(lua.Function("post", lesson.source) + aheadLua)
	}
	if got.sha != e.known.Hash() {
		return nil, errNoCapture
	}
	return e.known, nil
}

type captureKey struct{}

// capture is what asynq's client wanted to send.
type capture struct {
	learn  bool // answer NOSCRIPT, so that the text of the script follows
	sha    string
	source string
	keys   []string
	args   []any
}

// captureHook answers every command of asynq's client; scripts go into the capture of their context.
type captureHook struct{}

func (captureHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (captureHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (captureHook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script, ok := parseScript(cmd)
		into, wanted := ctx.Value(captureKey{}).(*capture)
		if !ok || !wanted {
			return nil // SADD asynq:queues: the Ringer announces queues itself
		}
		reply, ok := cmd.(*redis.Cmd)
		if !ok {
			return errNoCapture
		}
		switch {
		case !script.bySHA:
			into.source = script.name
		case into.learn:
			return noScript{}
		default:
			into.sha, into.keys, into.args = script.name, script.keys, script.args
		}
		reply.SetVal(int64(1)) // enqueued
		return nil
	}
}

// noScript is Redis' answer to an EVALSHA that it does not know.
type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT not known" }
func (noScript) RedisError()   {}

// scriptCall is an EVAL or EVALSHA taken apart.
type scriptCall struct {
	bySHA bool
	name  string // SHA-1, or the text
	keys  []string
	args  []any
}

// parseScript takes an EVAL or EVALSHA apart; ok is false for every other command.
func parseScript(cmd redis.Cmder) (script scriptCall, ok bool) {
	bySHA := cmd.Name() == "evalsha"
	if !bySHA && cmd.Name() != "eval" {
		return scriptCall{}, false
	}
	args := cmd.Args()
	if len(args) < 3 {
		return scriptCall{}, false
	}
	name, isText := args[1].(string)
	n, isCount := args[2].(int)
	if !isText || !isCount || n < 0 || len(args) < 3+n {
		return scriptCall{}, false
	}
	keys := make([]string, n)
	for i := range keys {
		key, isKey := args[3+i].(string)
		if !isKey {
			return scriptCall{}, false
		}
		keys[i] = key
	}
	return scriptCall{bySHA: bySHA, name: name, keys: keys, args: args[3+n:]}, true
}
