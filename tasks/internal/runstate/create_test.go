package runstate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// posting is a queue's own script, as short as one can be.
const posting = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('LPUSH', KEYS[2], ARGV[2])
return 1`

// nursery makes runs of one shape with two roots.
type nursery struct {
	*Store
	rdb   redis.UniversalClient
	shape *Shape
	posts bool
}

func newNursery(t *testing.T, rdb redis.UniversalClient, posts bool) *nursery {
	t.Helper()
	n := &nursery{Store: NewStore(rdb), rdb: rdb, posts: posts, shape: ShapeOf("f", []byte{0}, []Node{
		{ID: "a", Children: []Edge{{2, 'r'}}}, {ID: "b", Children: []Edge{{2, 'r'}}}, {ID: "c", Parents: []Edge{{0, 'r'}, {1, 'r'}}},
	})}
	if posts {
		n.Store = n.WithPoster(posting)
	}
	return n
}

func (n *nursery) keep(t *testing.T) {
	t.Helper()
	if err := n.KeepBundle(t.Context(), "q", n.shape.BundleSHA, time.Hour, func() []byte { return []byte("bundle") }); err != nil {
		t.Fatal(err)
	}
}

func (n *nursery) run(id, hash string) NewRun {
	return NewRun{Ref: Ref{"q", id}, InputHash: hash, Shape: n.shape, Retention: time.Hour, Input: []byte(`"` + id + `"`)}
}

func (n *nursery) postsOf(id string) (posts []Post) {
	for _, root := range []string{"0", "1"} {
		if n.posts {
			posts = append(posts, Post{Keys: []any{"{q}task:" + id + root, "{q}list"}, Args: []any{"task of " + id, id + root}})
		}
	}
	return posts
}

// together makes runs by one script, and says what became of each.
func (n *nursery) together(runs ...NewRun) (got []string) {
	births := make([]*share, len(runs))
	for i, r := range runs {
		births[i] = n.birth(r, n.postsOf(r.Run))
	}
	n.create(runs[0].kind(n.postsOf(runs[0].Run)), births)
	return answers(births)
}

// answers are the first words of what was said of each.
func answers(shares []*share) (got []string) {
	for _, sh := range shares {
		<-sh.done
		answer := str(sh.said)
		if sh.err != nil {
			answer = sh.err.Error()
		}
		first, _, _ := strings.Cut(answer, " ")
		first, _, _ = strings.Cut(first, ";")
		got = append(got, first)
	}
	return got
}

// inEachWay runs f on every kind of Redis, with a poster and without.
func inEachWay(t *testing.T, f func(t *testing.T, n *nursery)) {
	for name, open := range map[string]func(t *testing.T) redis.UniversalClient{
		"embedded": func(t *testing.T) redis.UniversalClient {
			rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
			t.Cleanup(func() { _ = rdb.Close() })
			return rdb
		},
		"single":  func(t *testing.T) redis.UniversalClient { return redistest.Start(t).Client(t) },
		"cluster": func(t *testing.T) redis.UniversalClient { return redistest.StartCluster(t, 3).Client(t) },
	} {
		for _, posts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/posts=%v", name, posts), func(t *testing.T) { f(t, newNursery(t, open(t), posts)) })
		}
	}
}

func TestRunsThatOneScriptMakesHaveAnAnswerEach(t *testing.T) {
	inEachWay(t, func(t *testing.T, n *nursery) {
		ctx := t.Context()
		if got := n.together(n.run("early", "")); got[0] != "unkept" {
			t.Errorf("before the bundle is kept: %s", got)
		}
		n.keep(t)
		if err := n.rdb.Set(ctx, runKey(Ref{"q", "taken"}), "by somebody else", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := n.rdb.Set(ctx, valKey(Ref{"q", "half"}), "by somebody else", 0).Err(); err != nil {
			t.Fatal(err)
		}
		traced := n.run("traced", "")
		traced.Trace = "00-trace"
		got := n.together(n.run("one", "x"), n.run("taken", ""), n.run("one", "x"), n.run("one", "y"), traced, n.run("half", ""), n.run("last", ""))
		if diff := cmp.Diff([]string{"created", "WRONGTYPE", "exists", "conflict", "created", "WRONGTYPE", "created"}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		// Of what could not be made as a whole, the sweeper is told too.
		visited, err := n.rdb.ZRange(ctx, dueKey("q"), 0, -1).Result()
		if diff := cmp.Diff([]string{"half", "last", "one", "traced"}, visited); diff != "" || err != nil {
			t.Errorf("to be visited: %v (-want +got):\n%s", err, diff)
		}
		for _, id := range []string{"one", "traced", "last"} {
			s, ok, err := n.Read(ctx, Ref{"q", id})
			if err != nil || !ok {
				t.Fatal(id, ok, err)
			}
			input, err := n.rdb.HGet(ctx, valKey(Ref{"q", id}), "input").Result()
			if err != nil || input != `"`+id+`"` {
				t.Errorf("%s has the input %s, %v", id, input, err)
			}
			var states []StepState
			for _, step := range s.Steps {
				states = append(states, step.State)
			}
			if diff := cmp.Diff([]StepState{StepQueued, StepQueued, StepWaiting}, states); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
		if trace, err := n.rdb.HGet(ctx, runKey(Ref{"q", "traced"}), "t").Result(); trace != "00-trace" || err != nil {
			t.Errorf("the trace is %q, %v", trace, err)
		}
		if has, err := n.rdb.HExists(ctx, runKey(Ref{"q", "last"}), "t").Result(); has || err != nil {
			t.Errorf("the trace of one is another's too: %v, %v", has, err)
		}
		want := []string{"last1", "last0", "traced1", "traced0", "one1", "one0"}
		ready, err := n.rdb.LRange(ctx, "{q}list", 0, -1).Result()
		if !n.posts {
			want = []string{"last:1:0:0", "last:1:1:0", "one:1:0:0", "one:1:1:0", "traced:1:0:0", "traced:1:1:0"}
			ready, err = n.rdb.ZRange(ctx, outboxKey("q"), 0, -1).Result()
		}
		if diff := cmp.Diff(want, ready); diff != "" || err != nil {
			t.Errorf("made runnable: %v (-want +got):\n%s", err, diff)
		}
	})
}

// The runs of many producers' goroutines, of several kinds, each once.
func TestManyGoroutinesMakeRuns(t *testing.T) {
	inEachWay(t, func(t *testing.T, n *nursery) {
		n.keep(t)
		const keys, callers = 40, 4
		var mu sync.Mutex
		words := map[string]map[Word]int{}
		var all sync.WaitGroup
		for i := range keys * callers {
			all.Go(func() {
				id := fmt.Sprintf("run%02d", i%keys)
				r := n.run(id, "same")
				r.FailFast = i%2 == 0 // two kinds; of one run always the same
				c, err := n.Create(context.Background(), r, n.postsOf(id))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(id, err)
				}
				if !n.posts && c.Word == Created && (len(c.Ready) != 2 || c.Generation != 1) {
					t.Errorf("%s: to be rung for: %+v", id, c)
				}
				if words[id] == nil {
					words[id] = map[Word]int{}
				}
				words[id][c.Word]++
			})
		}
		all.Wait()
		for id, said := range words {
			if diff := cmp.Diff(map[Word]int{Created: 1, Exists: callers - 1}, said); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
		if len(words) != keys {
			t.Errorf("%d of %d runs were made", len(words), keys)
		}
	})
}

func TestOneScriptMakesOnlySoMuch(t *testing.T) {
	t.Parallel()
	node := Node{ID: "a"}
	for _, c := range []struct {
		name  string
		nodes int
		input int
		want  int
	}{
		{"small runs", 1, 10, mostAtOnce},
		{"a large input", 1, largeValue + 1, 1},
		{"many steps", 300, 10, 3},
		{"more steps than there is room for", 3000, 10, 1},
	} {
		nodes := make([]Node, c.nodes)
		for i := range nodes {
			nodes[i] = node
		}
		r := NewRun{Shape: ShapeOf("f", []byte{0}, nodes), Input: make([]byte, c.input)}
		if got := r.kind(nil).most(); got != c.want {
			t.Errorf("%s: %d at once, want %d", c.name, got, c.want)
		}
	}
}

// Who has left before is not waited for, and nothing is made.
func TestNothingIsMadeForWhoHasLeft(t *testing.T) {
	t.Parallel()
	n := newNursery(t, redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}), false)
	n.keep(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Create(ctx, n.run("x", ""), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, ok, err := n.Read(t.Context(), Ref{"q", "x"}); ok || err != nil {
		t.Error("it was made", err)
	}
}
