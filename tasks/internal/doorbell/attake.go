package doorbell

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/tasks/internal/lua"
)

// AtTake is a script that meets each ring at the moment in which it is taken, in the same round trip and atomically with it.
// Both fields are required.
type AtTake struct {
	// Script is Lua that reads the ring's queue as ARGV[1], its ID as ARGV[2], and then Args. What it returns is Delivery.Met. The
	// keys that it touches must carry the queue as their hash tag.
	Script string
	Args   func() []any // for one ring
}

// around returns asynq's taking script within one that has the ring met. asynq puts the ring that it takes first among the
// active ones. A meeting that fails leaves the ring taken, and not met.
func (a *AtTake) around(asynqs string) *redis.Script {
	return redis.NewScript(lua.Function("take", asynqs) + "local function meet(ARGV)\n" + a.Script + `
end
local msg = take(KEYS, ARGV)
if not msg then return false end
local id = redis.call('LINDEX', KEYS[3], 0)
local fine, met = pcall(meet, { string.match(KEYS[1], '{(.*)}'), id, unpack(ARGV, 3) })
return { msg, id, fine and met }`)
}

// learnScript lets asynq show its taking script, by pretending that the server does not know it: then its text follows.
func (k *taker) learnScript(cmd *redis.Cmd) error {
	if k.atTake == nil || k.script != nil {
		return nil
	}
	text, ok := cmd.Args()[1].(string)
	if cmd.Name() != "eval" || !ok {
		return noScript{}
	}
	k.script = k.atTake.around(text)
	return nil
}

// question is what Redis is asked for one ring: asynq's question, or ours around it.
func (k *taker) question(ctx context.Context, args []any) *redis.Cmd {
	if k.script != nil {
		args = append([]any{"evalsha", k.script.Hash()}, args[2:]...)
		args = append(args, k.atTake.Args()...)
	}
	return redis.NewCmd(ctx, args...)
}

// ask asks for up to n rings. A server that does not know our script has taken nothing: it is sent the text, and asked again.
func (k *taker) ask(ctx context.Context, args []any, n int) ([]any, error) {
	replies, err := k.send(ctx, args, n)
	if k.script == nil || !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return replies, err
	}
	node, err := k.node(ctx, args)
	if err != nil {
		return nil, err
	}
	if err := k.script.Load(ctx, node).Err(); err != nil {
		return nil, err
	}
	return k.send(ctx, args, n)
}

func (k *taker) send(ctx context.Context, args []any, n int) ([]any, error) {
	if n > 1 {
		return k.several(ctx, args, n)
	}
	reply, err := k.one(ctx, args)
	if err != nil {
		return nil, err
	}
	return []any{reply}, nil
}

// unwrap returns what asynq is to have of an answer, and keeps what was said of the ring for its handler.
func (k *taker) unwrap(reply any) any {
	said, ok := reply.([]any)
	if !ok || len(said) == 0 {
		return reply
	}
	if len(said) == 3 && said[2] != nil {
		if id, ok := said[1].(string); ok {
			k.met.put(id, meeting{said[2], k.asked}, k.places.slots+mostAtOnce)
		}
	}
	return said[0]
}

// meetings keeps what was said of rings that asynq has, and their handlers not yet. asynq drops what it cannot decode: what was
// said of that goes when there is too much. The zero meetings is ready.
type meetings struct {
	mu   sync.Mutex
	held map[string]meeting // by ID
}

type meeting struct {
	said any
	at   time.Time // no later than Redis answered
}

func (m *meetings) put(id string, now meeting, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil {
		m.held = map[string]meeting{}
	}
	if len(m.held) >= most {
		maps.DeleteFunc(m.held, func(_ string, old meeting) bool { return time.Since(old.at) > noShow })
	}
	m.held[id] = now
}

// take returns what was said of a ring, and when; the zero meeting: nothing.
func (m *meetings) take(id string) meeting {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.held[id]
	delete(m.held, id)
	return found
}
