package doorbell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestCoalescedAnswersAreEachCallersOwn(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		rdb = coalesced(t, rdb)
		script := redis.NewScript(`
			if ARGV[1] == "nil" then return nil end
			if ARGV[1] == "error" then return redis.error_reply("MINE " .. ARGV[2]) end
			return {KEYS[1], ARGV[2], redis.call("INCR", KEYS[1])}`)
		var wg sync.WaitGroup
		for g := range 50 {
			wg.Go(func() {
				key := fmt.Sprintf("{%d}counter", g)
				for i := range 40 {
					kind := []string{"value", "nil", "error"}[(g+i)%3]
					got, err := script.Run(t.Context(), rdb, []string{key}, kind, i).Result()
					switch kind {
					case "nil":
						if !errors.Is(err, redis.Nil) {
							t.Errorf("got %v, %v, want redis.Nil", got, err)
						}
					case "error":
						if want := fmt.Sprint("MINE ", i); err == nil || err.Error() != want {
							t.Errorf("got %v, %v, want %s", got, err, want)
						}
					default:
						answer, _ := got.([]any)
						if err != nil || len(answer) != 3 || answer[0] != key || answer[1] != fmt.Sprint(i) {
							t.Errorf("caller %d, call %d: got %v, %v", g, i, got, err)
						}
					}
				}
			})
		}
		wg.Wait()
		for g := range 50 {
			n, err := rdb.Get(t.Context(), fmt.Sprintf("{%d}counter", g)).Int()
			must(t, err)
			want := 0
			for i := range 40 {
				if (g+i)%3 == 0 {
					want++
				}
			}
			if n != want {
				t.Errorf("caller %d: %d scripts ran, want %d", g, n, want)
			}
		}
	})
}

// held is a client whose commands wait at a gate.
type held struct {
	*redis.Client
	c    *coalescer
	gate chan struct{} // closed: open
	mu   sync.Mutex
	sent []int // commands of each round trip, in order
}

func newHeld(t *testing.T) *held {
	h := &held{Client: redis.NewClient(&redis.Options{Addr: "nowhere:0", MaintNotificationsConfig: noHandover()}), gate: make(chan struct{})}
	h.c = &coalescer{client: h.Client}
	h.AddHook(h.c)
	h.AddHook(h)
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *held) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *held) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return h.answer(cmd) }
}

func (h *held) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error { return h.answer(cmds...) }
}

func (h *held) answer(cmds ...redis.Cmder) error {
	h.mu.Lock()
	h.sent = append(h.sent, len(cmds))
	h.mu.Unlock()
	<-h.gate
	for _, cmd := range cmds {
		cmd.(*redis.Cmd).SetVal(cmd.Args()[1])
	}
	return nil
}

func (h *held) trips() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]int(nil), h.sent...)
}

func (h *held) waiting() int {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	return len(h.c.waiting)
}

// call sends one script from a goroutine of its own.
func (h *held) call(ctx context.Context, name string, answers chan<- string) {
	got, err := h.EvalSha(ctx, name, []string{"k"}).Result()
	answers <- fmt.Sprint(got, " ", err)
}

func TestCommandFliesAtOnceAndAloneWhileALaneIsFree(t *testing.T) {
	h := newHeld(t)
	answers := make(chan string, 10)
	for i := range lanes {
		go h.call(t.Context(), fmt.Sprint(i), answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	close(h.gate)
	for range lanes {
		<-answers
	}
	if got := h.trips(); len(got) != lanes || got[0] != 1 || got[lanes-1] != 1 {
		t.Errorf("round trips: got %v, want %d of one command", got, lanes)
	}
	go h.call(t.Context(), "after", answers)
	if got := <-answers; got != "after <nil>" {
		t.Errorf("got %q: the lanes were not freed", got)
	}
}

func TestWaitingCommandsFlyTogetherInBoundedBatches(t *testing.T) {
	h := newHeld(t)
	answers := make(chan string, 1000)
	for i := range lanes {
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	const n = 2*scriptsPerFlight + 10
	want := map[string]int{"first <nil>": lanes}
	for i := range n {
		go h.call(t.Context(), fmt.Sprint(i), answers)
		want[fmt.Sprint(i, " <nil>")] = 1
	}
	eventually(t, func() bool { return h.waiting() == n })
	close(h.gate)
	got := map[string]int{}
	for range n + lanes {
		got[<-answers]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	trips := h.trips()[lanes:]
	if len(trips) != 3 || max(trips[0], trips[1], trips[2]) != scriptsPerFlight {
		t.Errorf("round trips of %d waiting commands: got %v, want 3 of at most %d", n, trips, scriptsPerFlight)
	}
}

// A crowd is carried in larger flights, since trips are what it waits for.
func TestACrowdFliesInLargerBatches(t *testing.T) {
	h := newHeld(t)
	answers := make(chan string, 1000)
	for i := range lanes {
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	const n = crowd + 10
	for i := range n {
		go h.call(t.Context(), fmt.Sprint(i), answers)
	}
	eventually(t, func() bool { return h.waiting() == n })
	close(h.gate)
	for range n + lanes {
		<-answers
	}
	trips := h.trips()[lanes:]
	if got := slices.Max(trips); got != crowdPerFlight {
		t.Errorf("the largest flight of a crowd: got %d, want %d", got, crowdPerFlight)
	}
	if got := slices.Min(trips); got > scriptsPerFlight {
		t.Errorf("no flight of at most %d when the crowd was gone: the smallest had %d", scriptsPerFlight, got)
	}
}

func TestPatientCommandFliesWithTheNextOrAfterAMoment(t *testing.T) {
	h := newHeld(t)
	close(h.gate)
	answers := make(chan string, 10)
	go h.call(patiently(t.Context()), "alone", answers)
	if got := <-answers; got != "alone <nil>" {
		t.Errorf("got %q", got)
	}
	for len(h.trips()) < 100 { // on a slow machine its moment may be over before the next comes
		before := len(h.trips())
		go h.call(patiently(t.Context()), "patient", answers)
		eventually(t, func() bool { return h.waiting() == 1 || len(h.trips()) > before })
		h.call(t.Context(), "next", answers)
		got := map[string]int{<-answers: 1}
		got[<-answers]++
		if diff := cmp.Diff(map[string]int{"patient <nil>": 1, "next <nil>": 1}, got); diff != "" {
			t.Fatal(diff)
		}
		if trips := h.trips(); len(trips) == before+1 && trips[before] == 2 {
			return
		}
	}
	t.Error("a patient command never shared a round trip")
}

// A lane that becomes free is not worth a trip to who is patient.
func TestPatientCommandLetsALandedFlightGo(t *testing.T) {
	for try := range 100 { // on a slow machine its moment may be over before the next comes
		h := newHeld(t)
		answers := make(chan string, 10)
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == 1 })
		go h.call(patiently(t.Context()), "patient", answers)
		eventually(t, func() bool { return h.waiting() == 1 || len(h.trips()) > 1 })
		close(h.gate)
		<-answers
		h.call(t.Context(), "next", answers)
		<-answers
		<-answers
		if trips := h.trips(); len(trips) == 2 && trips[1] == 2 {
			return
		}
		t.Logf("try %d: round trips of %v", try, h.trips())
	}
	t.Error("a patient command never waited for the next")
}

func TestCallerWhoLeavesHurtsNobody(t *testing.T) {
	h := newHeld(t)
	answers, left := make(chan string, 10), make(chan string, 10)
	ctx, leave := context.WithCancel(t.Context())
	for i := range lanes {
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	go h.call(ctx, "leaver", left)
	eventually(t, func() bool { return h.waiting() == 1 })
	go h.call(t.Context(), "stayer", answers)
	eventually(t, func() bool { return h.waiting() == 2 })
	leave()
	if got := <-left; got != "<nil> context canceled" {
		t.Errorf("who left: got %q", got)
	}
	close(h.gate)
	got := map[string]int{}
	for range lanes + 1 {
		got[<-answers]++
	}
	if diff := cmp.Diff(map[string]int{"first <nil>": lanes, "stayer <nil>": 1}, got); diff != "" {
		t.Error(diff)
	}
}

// pipeline sends scripts in one pipeline, and returns what each brought.
func (h *held) pipeline(ctx context.Context, names ...string) []string {
	replies := make([]*redis.Cmd, len(names))
	_, _ = h.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
		for i, name := range names {
			replies[i] = p.EvalSha(ctx, name, []string{"k"})
		}
		return nil
	})
	out := make([]string, len(names))
	for i, reply := range replies {
		got, err := reply.Result()
		out[i] = fmt.Sprint(got, " ", err)
	}
	return out
}

// Each on a connection of its own, those of many goroutines would open connections as fast as they are closed.
func TestShortPipelinesFlyWithTheOthers(t *testing.T) {
	h := newHeld(t)
	answers, piped, long := make(chan string, 10), make(chan []string, 2), make(chan []string, 1)
	for i := range lanes {
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	go func() { piped <- h.pipeline(t.Context(), "a", "b") }()
	eventually(t, func() bool { return h.waiting() == 2 })
	go func() { piped <- h.pipeline(t.Context(), "c", "d", "e") }()
	eventually(t, func() bool { return h.waiting() == 5 })
	go h.call(t.Context(), "other", answers)
	eventually(t, func() bool { return h.waiting() == 6 })
	go func() { long <- h.pipeline(t.Context(), slices.Repeat([]string{"l"}, scriptsPerFlight+1)...) }()
	eventually(t, func() bool { return len(h.trips()) == lanes+1 })
	close(h.gate)
	got := append(<-piped, <-piped...)
	got = append(got, (<-long)[0])
	for range lanes + 1 {
		got = append(got, <-answers)
	}
	slices.Sort(got)
	want := []string{"a <nil>", "b <nil>", "c <nil>", "d <nil>", "e <nil>", "first <nil>", "first <nil>", "l <nil>", "other <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{scriptsPerFlight + 1, 6}, h.trips()[lanes:]); diff != "" {
		t.Errorf("trips beside the first (-want +got):\n%s", diff)
	}
	if got := h.pipeline(t.Context(), "after"); got[0] != "after <nil>" {
		t.Errorf("got %q: the lanes were not freed", got)
	}
}

// Its client follows redirections within them.
func TestPipelinesOfAClusterAreLeftAlone(t *testing.T) {
	h := newHeld(t)
	h.c.ofCluster = true
	answers, piped := make(chan string, lanes), make(chan []string, 1)
	for i := range lanes {
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	go func() { piped <- h.pipeline(t.Context(), "a", "b") }()
	eventually(t, func() bool { return len(h.trips()) == lanes+1 })
	if n := h.trips()[lanes]; n != 2 || h.waiting() != 0 {
		t.Errorf("a trip of %d, and %d wait; want one of 2", n, h.waiting())
	}
	close(h.gate)
	<-piped
	for range lanes {
		<-answers
	}
}

// A command without an error would pass for one that was answered.
func TestEachCommandOfAPipelineThatIsLeftHasAnError(t *testing.T) {
	h := newHeld(t)
	answers, left := make(chan string, 10), make(chan []string, 1)
	ctx, leave := context.WithCancel(t.Context())
	for i := range lanes {
		go h.call(t.Context(), "first", answers)
		eventually(t, func() bool { return len(h.trips()) == i+1 })
	}
	go func() { left <- h.pipeline(ctx, "a", "b") }()
	eventually(t, func() bool { return h.waiting() == 2 })
	leave()
	if diff := cmp.Diff([]string{"<nil> context canceled", "<nil> context canceled"}, <-left); diff != "" {
		t.Error(diff)
	}
	close(h.gate)
	for range lanes {
		<-answers
	}
}

func TestCallerWhoseTimeIsOverTakesNoLane(t *testing.T) {
	h := newHeld(t)
	close(h.gate)
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for i := range 2 * lanes {
		_ = h.EvalSha(ctx, "late", []string{"k"}).Err()
		answers := make(chan string, 1)
		h.call(t.Context(), fmt.Sprint(i), answers)
		if got, want := <-answers, fmt.Sprint(i, " <nil>"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOnlyKnownClientsAreCoalescedAndCopied(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "nowhere:0"}})
	defer ring.Close()
	if _, err := Coalesce(ring); !errors.Is(err, ErrClient) {
		t.Errorf("Coalesce: got %v, want ErrClient", err)
	}
	if _, err := NewServer(ServerConfig{Redis: ring, Queues: map[string]int{"q": 1}, Handler: func(context.Context, Delivery) Verdict { return Handled() }}); !errors.Is(err, ErrClient) {
		t.Errorf("NewServer: got %v, want ErrClient", err)
	}
}
