package doorbell

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a waiting server relies on wake-ups before it looks by itself.
type patience struct {
	listening time.Duration // while wake-ups work
	deaf      time.Duration // while they do not
}

// The first server of a process looks more often; it wakes the others when there is much. asynq reckons a task's lease from
// before the wait, so a wait must stay far below its 30 seconds.
var (
	defaultPatience = patience{listening: 2 * time.Second, deaf: pollInterval}
	othersPatience  = patience{listening: 5 * time.Second, deaf: time.Second}
)

func (p patience) of(server int) patience {
	if server > 0 {
		return patience{max(p.listening, othersPatience.listening), max(p.deaf, othersPatience.deaf)}
	}
	return p
}

const (
	// mostAtOnce is how many tasks are taken in one round trip.
	mostAtOnce = 16
	// takeTimeout is how long an answer is waited for: a Redis that stalls may still hand out a task.
	takeTimeout = 10 * time.Second
)

// calm is how long nothing comes before a taker expects one task and not several.
const calm = 5 * time.Millisecond

// errParked makes asynq ask again at once: of all answers only an error is not followed by a sleep (D8).
var errParked = errors.New("fourfold: nothing to take")

// errNotTaken marks what the taker has logged itself.
var errNotTaken = errors.New("fourfold: no task taken")

// taker takes tasks for one asynq server, in the one goroutine in which that server asks for them.
type taker struct {
	rdb      redis.UniversalClient // sends nothing twice: an answer that is lost costs one task a lease's time, not several
	yard     *yard
	patience patience
	queues   int
	places   *places
	log      Logger
	atTake   *AtTake // nil: rings are taken as asynq does it
	met      meetings

	script   *redis.Script  // asynq's with AtTake's in it; nil: not known yet
	asks     map[string]ask // how each queue was asked last
	empty    map[string]bool
	asked    time.Time    // when what is in the stock, or was handed out of it last, was asked for
	stock    []any        // taken and not yet handed to asynq; never more than there are free slots
	owed     atomic.Int64 // what asynq may still be handed without a further question: the stock, and while a question is under way, its answer
	appetite int
	sated    bool // one task was there when a wake-up said so: the listener knows whether there are more
	failed   int
}

func newTaker(rdb redis.UniversalClient, y *yard, p patience, queues, slots int, log Logger) *taker {
	return &taker{
		rdb: rdb, yard: y, patience: p, queues: queues, places: newPlaces(slots), log: log,
		asks: map[string]ask{}, empty: map[string]bool{}, appetite: 1,
	}
}

// take answers asynq's question with a task, at once if there is one. When all queues were found empty, it waits.
func (k *taker) take(ctx context.Context, cmd *redis.Cmd, a ask) error {
	reply, err := k.answer(ctx, cmd, a)
	switch {
	case err == nil:
		cmd.SetVal(k.unwrap(reply))
		k.places.reserve()
		clear(k.empty)
		k.passOn(a.queue)
	case errors.Is(err, redis.Nil), errors.Is(err, errParked), redis.HasErrorPrefix(err, "NOSCRIPT"): // the text follows
	default:
		clear(k.empty)
		k.pause(err)
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	return err
}

// answer finds a task in the stock, in the queue, or by waiting.
func (k *taker) answer(ctx context.Context, cmd *redis.Cmd, a ask) (any, error) {
	if len(k.stock) > 0 {
		reply := k.stock[0]
		k.stock = k.stock[1:]
		k.owed.Store(int64(len(k.stock)))
		return reply, nil
	}
	if err := k.learnScript(cmd); err != nil {
		return nil, err
	}
	if cmd.Name() == "evalsha" || k.script != nil {
		k.asks[a.queue] = a
	} else { // the server did not know the script; after this it does
		k.appetite = 1
	}
	if k.sated && !k.yard.deaf() {
		return k.wait(ctx, a.queue, nil, redis.Nil)
	}
	reply, err := k.fetch(ctx, a)
	return k.wait(ctx, a.queue, reply, err)
}

// wait passes an answer on, unless it was the last of all queues to have nothing: then it waits to be woken.
func (k *taker) wait(ctx context.Context, queue string, reply any, err error) (any, error) {
	if !errors.Is(err, redis.Nil) {
		return reply, err
	}
	k.empty[queue] = true
	if len(k.empty) < k.queues {
		return nil, err
	}
	clear(k.empty)
	k.sated = false
	over := k.patience.listening
	if k.yard.deaf() {
		over = k.patience.deaf
	}
	timer := time.NewTimer(over)
	defer timer.Stop()
	for {
		asleep := time.Now()
		w, ok := k.yard.sleep(timer.C)
		if !ok {
			return nil, errParked
		}
		if time.Since(asleep) > calm { // what was learnt is no longer true
			k.appetite = 1
		}
		a, known := k.asks[w.queue]
		if !known { // then asynq has to ask first
			k.yard.report(w, false)
			return nil, errParked
		}
		alone := k.appetite == 1
		reply, err := k.fetch(ctx, a)
		k.sated = err == nil && w.listened && alone
		k.yard.report(w, err == nil)
		if !errors.Is(err, redis.Nil) {
			return reply, err
		}
	}
}

// fetch asks one queue, for several tasks while it has many and slots are free; what is not needed at once becomes stock.
// Once the yard is closed it asks no more.
func (k *taker) fetch(ctx context.Context, a ask) (any, error) {
	n := max(1, min(k.appetite, k.places.left(), mostAtOnce))
	defer func() { k.owed.Store(int64(len(k.stock))) }()
	if k.owed.Store(int64(n)); k.yard.closed() { // in this order: see handedOut
		return nil, errParked
	}
	k.asked = time.Now()
	args := a.again(k.asked)
	replies, err := k.ask(ctx, args, n)
	k.learn(err, n, len(replies))
	if len(replies) == 0 {
		return nil, err
	}
	k.stock = append(k.stock, replies[1:]...)
	return replies[0], nil
}

// handedOut says whether asynq has all that was taken. Of a closed yard's taker it stays true.
func (k *taker) handedOut() bool { return k.owed.Load() == 0 }

// learn grows the appetite while queues give all that is asked for.
func (k *taker) learn(err error, asked, got int) {
	switch {
	case err != nil:
		k.appetite = 1
	case got == asked:
		k.appetite = min(2*k.appetite, mostAtOnce)
		k.recovered()
	default:
		k.appetite = got + 1
		k.recovered()
	}
	if errors.Is(err, redis.Nil) {
		k.recovered()
	}
}

// passOn wakes an idle neighbour when this server can take no more.
func (k *taker) passOn(queue string) {
	if k.places.left() <= 0 {
		k.yard.more(queue)
	}
}

// one asks for one task.
func (k *taker) one(ctx context.Context, args []any) (any, error) {
	cmd := once{k.question(ctx, args)}
	cmd.SetFirstKeyPos(askedKeys)
	err := k.rdb.Process(ctx, cmd)
	return cmd.Val(), err
}

// several asks for n tasks in one round trip. Without any it returns the first error, redis.Nil for an empty queue.
func (k *taker) several(ctx context.Context, args []any, n int) ([]any, error) {
	node, err := k.node(ctx, args)
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	cmds := make([]*redis.Cmd, n)
	for i := range cmds {
		cmds[i] = k.question(ctx, args)
		_ = pipe.Process(ctx, cmds[i]) // it only joins the pipeline
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var replies []any
	for _, cmd := range cmds {
		if cmd.Err() == nil {
			replies = append(replies, cmd.Val())
		} else if err == nil {
			err = cmd.Err()
		}
	}
	if len(replies) > 0 {
		return replies, nil
	}
	return nil, err
}

// node is the one Redis that has the queue. A cluster client would send a pipeline again when an answer is lost.
func (k *taker) node(ctx context.Context, args []any) (*redis.Client, error) {
	switch client := k.rdb.(type) {
	case *redis.Client:
		return client, nil
	case *redis.ClusterClient:
		key, _ := args[askedKeys].(string)
		return client.MasterForKey(ctx, key)
	default:
		return nil, ErrClient
	}
}

// once is a command that is never sent twice, even by a cluster client that follows a moved slot.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// pause keeps a failing Redis from being asked in a tight loop: asynq itself does not wait after an error (D8).
func (k *taker) pause(err error) {
	if k.yard.closed() {
		return
	}
	k.failed++
	if k.failed == 1 {
		k.log.Warn("cannot take tasks", "error", err)
	}
	d := min(10*time.Millisecond<<min(k.failed, 10), time.Second)
	sleep(k.yard.stop, d/2+rand.N(d/2))
}

func (k *taker) recovered() {
	if k.failed > 0 {
		k.log.Info("can take tasks again", "failures", k.failed)
		k.failed = 0
	}
}
