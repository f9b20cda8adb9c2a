package runstate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

// together makes runs of one kind by one script, and says what became of each.
func (n *nursery) together(runs ...NewRun) (got []string) {
	births := make([]*share, len(runs))
	kind := runs[0].kind(n.postsOf(runs[0].Run))
	for i, r := range runs {
		if r.kind(n.postsOf(r.Run)) != kind {
			panic("runs of two kinds")
		}
		births[i] = n.birth(r, n.postsOf(r.Run))
	}
	n.create(kind, births)
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
		for _, key := range []string{runKey(Ref{"q", "taken"}), runKey(Ref{"q", "stolen"}), valKey(Ref{"q", "half"})} {
			if err := n.rdb.Set(ctx, key, "by somebody else", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"WRONGTYPE", "created", "WRONGTYPE", "exists", "conflict", "created", "exists"}
		got := n.together(n.run("stolen", ""), n.run("one", "x"), n.run("taken", ""), n.run("one", "x"), n.run("one", "y"), n.run("two", ""), n.run("two", ""))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		large := func(id string) NewRun {
			r := n.run(id, "same")
			r.Input = []byte(`"` + strings.Repeat(id, smallValue) + `"`)
			return r
		}
		got = n.together(large("half"), large("last"), large("last"))
		if diff := cmp.Diff([]string{"WRONGTYPE", "created", "exists"}, got); diff != "" {
			t.Errorf("answers to large ones (-want +got):\n%s", diff)
		}
		held := n.holds(t)
		// Of what could not be made as a whole, the sweeper is told too.
		if diff := cmp.Diff([]string{"half", "last", "one", "two"}, held[dueKey("q")]); diff != "" {
			t.Errorf("to be visited (-want +got):\n%s", diff)
		}
		ready, runnable := held[outboxKey("q")], []string{"last:1:0:0", "last:1:1:0", "one:1:0:0", "one:1:1:0", "two:1:0:0", "two:1:1:0"}
		if n.posts {
			ready, runnable = held["posted"], []string{"last1", "last0", "two1", "two0", "one1", "one0"}
		}
		if diff := cmp.Diff(runnable, ready); diff != "" {
			t.Errorf("made runnable (-want +got):\n%s", diff)
		}
		for _, id := range []string{"one", "two", "last"} {
			r, ok, err := n.Read(ctx, Ref{"q", id})
			if err != nil || !ok {
				t.Fatal(id, ok, err)
			}
			var states []StepState
			for _, step := range r.Steps {
				states = append(states, step.State)
			}
			if diff := cmp.Diff([]StepState{StepQueued, StepQueued, StepWaiting}, states); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
	})
}

// times are what differs between two runs that were made alike.
var times = regexp.MustCompile(`\d{13}`)

// holds is all that is kept of runs, without times.
func (n *nursery) holds(t *testing.T, ids ...string) map[string]any {
	t.Helper()
	held, ctx := map[string]any{}, t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		for _, key := range []string{runKey(Ref{"q", id}), valKey(Ref{"q", id})} {
			fields, err := n.rdb.HGetAll(ctx, key).Result()
			ok(err)
			for name, text := range fields {
				held[key+" "+name] = times.ReplaceAllString(text, "T")
			}
		}
		for _, p := range n.postsOf(id) {
			key, _ := p.Keys[0].(string)
			task, err := n.rdb.Get(ctx, key).Result()
			ok(err)
			held[key] = task
		}
	}
	var err error
	held["posted"], err = n.rdb.LRange(ctx, "{q}list", 0, -1).Result()
	ok(err)
	for _, key := range []string{dueKey("q"), outboxKey("q")} {
		members, err := n.rdb.ZRange(ctx, key, 0, -1).Result()
		ok(err)
		held[key] = slices.Sorted(slices.Values(members))
	}
	return held
}

// forget takes away all that is kept of runs.
func (n *nursery) forget(t *testing.T, ids ...string) {
	t.Helper()
	keys := []string{"{q}list", dueKey("q"), outboxKey("q")}
	for _, id := range ids {
		keys = append(keys, runKey(Ref{"q", id}), valKey(Ref{"q", id}))
		for _, p := range n.postsOf(id) {
			key, _ := p.Keys[0].(string)
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if err := n.rdb.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is made together, as copies of the first and with what all say alike said once, is what each would be if it were made alone.
func TestRunsMadeTogetherAreAsIfEachWereMadeAlone(t *testing.T) {
	ids := []string{"one", "two", "three"}
	inEachWay(t, func(t *testing.T, n *nursery) {
		n.keep(t)
		for name, change := range map[string]func(i int, r *NewRun){
			"small":                func(int, *NewRun) {},
			"with the same input":  func(_ int, r *NewRun) { r.Input = []byte("1") },
			"as large as small is": func(_ int, r *NewRun) { r.Input = []byte(strings.Repeat("x", smallValue)) },
			"apart":                func(_ int, r *NewRun) { r.Input = []byte(strings.Repeat("x", smallValue+1)) },
			"with keys":            func(i int, r *NewRun) { r.InputHash = ids[i] },
			"traced":               func(i int, r *NewRun) { r.Trace = "00-" + ids[i] },
			"of one trace":         func(_ int, r *NewRun) { r.Trace = "00-one" },
			"with all": func(i int, r *NewRun) {
				r.InputHash, r.Trace, r.Window, r.FailFast, r.OnDone = ids[i], "00-"+ids[i], time.Hour, true, "told"
				r.Input = []byte(strings.Repeat(ids[i], smallValue))
			},
		} {
			runs := make([]NewRun, len(ids))
			for i, id := range ids {
				runs[i] = n.run(id, "")
				change(i, &runs[i])
			}
			n.together(runs...)
			together := n.holds(t, ids...)
			n.forget(t, ids...)
			for i := range runs {
				n.together(runs[i])
			}
			alone := n.holds(t, ids...)
			n.forget(t, ids...)
			if diff := cmp.Diff(alone, together); diff != "" || len(alone) < 20 {
				t.Errorf("%s (-alone +together):\n%s", name, diff)
			}
			for i, r := range runs {
				key := runKey(r.Ref) + " i"
				if len(r.Input) > smallValue {
					key = valKey(r.Ref) + " input"
				}
				if alone[key] != string(r.Input) {
					t.Errorf("%s: the input of %s is %v", name, ids[i], alone[key])
				}
				if trace, _ := alone[runKey(r.Ref)+" t"].(string); trace != r.Trace {
					t.Errorf("%s: the trace of %s is %q", name, ids[i], trace)
				}
			}
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
