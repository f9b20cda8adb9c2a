package runstate

import (
	"context"
	"maps"

	"github.com/redis/go-redis/v9"
)

// Each step makes a script call or two, so what they have in common is put together once.

// queueKeys are the keys of a queue as commands take them. run, val and kept go before a run's id and a bundle's SHA.
type queueKeys struct {
	run, val, kept              string
	outbox, due, claims, failed any
}

// queuesKept bounds what a producer with ever new queues keeps.
const queuesKept = 1024

// queue returns the queue's keys.
func (s *Store) queue(name string) *queueKeys {
	known := s.queues.Load()
	if known != nil && (*known)[name] != nil {
		return (*known)[name]
	}
	q := &queueKeys{
		run: runKey(Ref{Queue: name}), val: valKey(Ref{Queue: name}), kept: keptKey(name, ""),
		outbox: outboxKey(name), due: dueKey(name), claims: claimsKey(name), failed: failedKey(name),
	}
	more := map[string]*queueKeys{}
	if known != nil && len(*known) < queuesKept {
		maps.Copy(more, *known)
	}
	more[name] = q
	s.queues.CompareAndSwap(known, &more) // who is late puts it in the next time
	return q
}

// command is a call of a script: its keys, then its arguments. Nothing of it is copied on its way to the connection.
type command struct {
	words []any // the first three are the call's own
	keys  int
}

func newCommand(keys, args int) command { return command{make([]any, 3, 3+keys+args), keys} }

func (c *command) add(words ...any) { c.words = append(c.words, words...) }

// call runs a script, by its name if Redis knows it, and returns the list that it answers, which is not empty.
func (s *Store) call(ctx context.Context, script *redis.Script, c command) ([]any, error) {
	answer, err := s.ask(ctx, script, c)
	got := list(answer)
	if err == nil && len(got) == 0 {
		err = errRecord
	}
	return got, err
}

// ask is call for a script that answers anything.
func (s *Store) ask(ctx context.Context, script *redis.Script, c command) (any, error) {
	c.words[0], c.words[1], c.words[2] = "evalsha", script.Hash(), c.keys
	cmd := redis.NewCmd(ctx, c.words...)
	cmd.SetFirstKeyPos(3) // a cluster's client goes by it
	err := s.rdb.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = script.Eval(ctx, s.rdb, c.keyNames(), c.words[3+c.keys:]...)
	}
	return cmd.Result()
}

func (c *command) keyNames() []string {
	names := make([]string, c.keys)
	for i, key := range c.words[3 : 3+c.keys] {
		names[i], _ = key.(string)
	}
	return names
}
