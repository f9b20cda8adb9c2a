package doorbell

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// stints last until they are released, or their contexts end.
type stints struct {
	begun   chan string
	release chan struct{}
}

func newStints() *stints { return &stints{make(chan string, 100), make(chan struct{}, 100)} }

func (s *stints) handler(_ context.Context, d Delivery) Verdict {
	return TakeOver(func(st *Stint) {
		go st.Do(func() {
			ctx, cancel := st.Context()
			defer cancel(nil)
			s.begun <- d.ID
			select {
			case <-s.release:
				st.End(false)
			case <-ctx.Done():
				s.begun <- fmt.Sprint(d.ID, " cut ", errors.Is(context.Cause(ctx), ErrStopping))
				st.End(true)
			}
		})
	})
}

func TestAsynqForgetsWhatIsTakenOverAndItStillCounts(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		work := newStints()
		s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: work.handler})
		must(t, NewRinger(rdb, RingerOptions{Poke: s.Poke}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
		<-work.begun
		eventually(t, func() bool { return presence(t, rdb, "q", "x").State == Absent && sizes(t, rdb, "q").Active == 0 })
		if got := s.Running(); got != 1 {
			t.Errorf("running: got %d, want 1", got)
		}
		s.Drain()
		work.release <- struct{}{}
		if diff := cmp.Diff(Result{Finished: 1}, s.Shutdown(context.Background())); diff != "" {
			t.Error(diff)
		}
	})
}

// asynq has free slots while all places are taken by what it has forgotten: no more may be taken all the same, and the next
// is as soon as one has ended.
func TestPlacesBoundWhatIsTakenOver(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		const places, rings = 5, 20
		fill(t, rdb, rings)
		work := newStints()
		s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: places, Servers: 2, Handler: work.handler})
		for range places {
			<-work.begun
		}
		for left := rings - places; ; left-- {
			eventually(t, func() bool { return sizes(t, rdb, "q").Active == 0 })
			if got := sizes(t, rdb, "q").Pending; got != int64(left) {
				t.Fatalf("pending while all places are taken: got %d, want %d", got, left)
			}
			if left == 0 {
				break
			}
			work.release <- struct{}{}
			<-work.begun
		}
		for range places {
			work.release <- struct{}{}
		}
		eventually(t, func() bool { return s.Running() == 0 })
	})
}

func TestShutdownWaitsForWhatWasTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		drain    time.Duration
		signal   bool // a second one
		deaf     bool // ignores its context
		want     Result
		wantSeen string
	}{
		"until the drain is over":        {drain: time.Millisecond, want: Result{Requeued: 1}, wantSeen: "x cut true"},
		"until a second signal":          {drain: time.Hour, signal: true, want: Result{Requeued: 1}, wantSeen: "x cut true"},
		"no longer than that and a time": {drain: time.Millisecond, deaf: true, want: Result{Abandoned: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := backends[1].open(t)
			work, ended := newStints(), make(chan struct{})
			handler := work.handler
			if c.deaf {
				handler = func(_ context.Context, d Delivery) Verdict {
					return TakeOver(func(st *Stint) { go func() { work.begun <- d.ID; <-ended; st.End(false) }() })
				}
			}
			s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Drain: c.drain, Handler: handler})
			must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
			<-work.begun
			ctx, signal := context.WithCancel(context.Background())
			defer signal()
			if c.signal {
				signal()
			}
			if diff := cmp.Diff(c.want, s.Shutdown(ctx)); diff != "" {
				t.Error(diff)
			}
			if c.wantSeen != "" {
				if got := <-work.begun; got != c.wantSeen {
					t.Errorf("got %q, want %q", got, c.wantSeen)
				}
			}
			close(ended)
			eventually(t, func() bool { return s.Running() == 0 })
		})
	}
}

// A context that is made when the server has stopped waiting has ended.
func TestContextOfALateStintHasEnded(t *testing.T) {
	h := newHandling(ServerConfig{})
	k := newTaker(nil, nil, patience{}, 1, 1, silent{})
	s := &Stint{handling: h, run: h.enter(func(error) {}, k)}
	first, cancel := s.Context()
	defer cancel(nil)
	h.abort(false)
	second, cancel := s.Context()
	defer cancel(nil)
	for name, ctx := range map[string]context.Context{"made before": first, "made after": second} {
		if got := context.Cause(ctx); !errors.Is(got, ErrStopping) {
			t.Errorf("%s: got %v, want %v", name, got, ErrStopping)
		}
	}
}

func TestPanicOfWhatWasTakenOverIsContained(t *testing.T) {
	rdb := backends[1].open(t)
	log := &memoryLog{}
	fill(t, rdb, 2)
	n := 0 // the second is taken when the first has ended
	s := serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Logger: log, Concurrency: 1,
		Handler: func(context.Context, Delivery) Verdict {
			return TakeOver(func(st *Stint) {
				if n++; n == 1 {
					panic(errors.New("canary"))
				}
				go st.Do(func() { defer st.End(false); panic(errors.New("canary")) })
			})
		},
	})
	eventually(t, func() bool { return len(errorsOf(log)) == 2 && s.Running() == 0 }) // the second has got the place of the first
	for _, line := range log.without("task") {
		if line == "error: handler panicked queue=q" {
			return
		}
	}
	t.Errorf("got %q", log.all())
}
