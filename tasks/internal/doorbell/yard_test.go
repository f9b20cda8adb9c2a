package doorbell

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// forever is a patience that makes a lost wake-up a task that never comes.
var forever = patience{listening: 1000 * time.Hour, deaf: 1000 * time.Hour}

func TestIdleProcessAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		p := newProcess(f, []string{"q"}, defaultPatience, 4, 25, 0)
		time.Sleep(time.Minute)
		asks, listens, _ := f.counts()
		// One look in 2 s by the first server, one in 5 s by each other, and one to begin with.
		if want := 30 + 3*12 + 4; asks > want || asks < want-8 {
			t.Errorf("asks in an idle minute: got %d, want about %d", asks, want)
		}
		if want := 12 + 1; listens > want || listens < 12 {
			t.Errorf("blocking commands in an idle minute: got %d, want about %d", listens, want)
		}
		p.stop()
	})
}

func TestNoWakeUpIsLost(t *testing.T) {
	for _, p := range []patience{forever, {listening: time.Millisecond, deaf: time.Millisecond}} { // the short one ends waits just when somebody is woken
		synctest.Test(t, func(t *testing.T) {
			f := newFakeRedis(t)
			queues := []string{"a", "b"}
			p := newProcess(f, queues, p, 3, 4, time.Millisecond)
			const n = 5000
			for i := range n {
				queue := queues[rand.N(2)]
				f.push(queue, fmt.Sprint(i))
				if rand.N(2) == 0 {
					p.yard.poke(queue)
				}
				if rand.N(3) == 0 {
					time.Sleep(rand.N(3 * time.Millisecond))
				}
			}
			time.Sleep(time.Second)
			if _, _, left := f.counts(); left != 0 || len(p.taken) != n {
				t.Errorf("after a quiet second %d tasks still wait, and %d of %d were taken", left, len(p.taken), n)
			}
			p.stop()
			for _, b := range p.yard.bells {
				if b.out {
					t.Errorf("the listener of %s waits for a report that never comes", b.queue)
				}
			}
		})
	}
}

func TestLoneTaskIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		p := newProcess(f, []string{"a", "b"}, forever, 4, 4, 0)
		for i := range 100 {
			time.Sleep(time.Second)
			before, start := len(p.taken), time.Now()
			f.push("b", fmt.Sprint(i))
			synctest.Wait()
			for ; len(p.taken) == before; synctest.Wait() {
				time.Sleep(time.Millisecond)
			}
			if waited := time.Since(start); waited > 2*time.Millisecond {
				t.Errorf("task %d was taken after %v on an idle process", i, waited)
			}
		}
		asks, _, _ := f.counts()
		if most := 4*2 + 100; asks > most { // to begin with, and then the wake-ups'
			t.Errorf("asks for 100 tasks: got %d, want at most %d", asks, most)
		}
		p.stop()
	})
}

func TestPausedQueueIsNotAskedHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		p := newProcess(f, []string{"q"}, defaultPatience, 2, 4, 0)
		f.pause("q", true)
		f.push("q", "x")
		time.Sleep(time.Minute)
		asks, listens, left := f.counts()
		if left != 1 {
			t.Fatal("a paused queue was taken from")
		}
		if most := 800; asks > most || listens > most { // one in 125 ms on average
			t.Errorf("in a minute of a paused queue: %d asks and %d blocking commands, want at most %d each", asks, listens, most)
		}
		f.pause("q", false)
		time.Sleep(mostDeafness)
		if len(p.taken) != 1 {
			t.Errorf("the task was not taken within %v of the end of the pause", mostDeafness)
		}
		p.stop()
	})
}

// A hundred idle processes hear each task. That they stop listening for a random while when they come too late keeps the
// number of looks for each task small, and somebody always listens.
func TestLargeIdleFleetIsNoHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		fleet := make([]*process, 100)
		for i := range fleet {
			fleet[i] = newProcess(f, []string{"q"}, forever, 1, 10, 20*time.Millisecond)
		}
		synctest.Wait()
		before, _, _ := f.counts()
		const n = 2000
		var slow []time.Duration
		for i := range n {
			start := time.Now()
			f.push("q", fmt.Sprint(i))
			for synctest.Wait(); ; synctest.Wait() {
				if _, _, left := f.counts(); left == 0 {
					break
				}
				time.Sleep(100 * time.Microsecond)
			}
			slow = append(slow, time.Since(start))
			time.Sleep(5*time.Millisecond - time.Since(start)%(5*time.Millisecond))
		}
		asks, _, _ := f.counts()
		slices.Sort(slow)
		each := float64(asks-before) / n
		t.Logf("looks for each task: %.1f; waited p50 %v, p99 %v", each, slow[n/2], slow[n*99/100])
		if each > 12 {
			t.Errorf("looks for each task: got %.1f, want at most 12 of 100 processes", each)
		}
		if p99 := slow[n*99/100]; p99 > 10*time.Millisecond {
			t.Errorf("p99 of the wait is %v: too few listen", p99)
		}
		for _, p := range fleet {
			p.stop()
		}
	})
}

func TestFailingRedisIsAskedSeldom(t *testing.T) {
	for _, failure := range []error{errors.New("connection refused"), redis.ErrPoolTimeout} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeRedis(t)
			f.fails, f.deaf = failure, failure
			log := &memoryLog{}
			f.log = log
			p := newProcess(f, []string{"q"}, defaultPatience, 1, 4, 0)
			time.Sleep(time.Minute)
			asks, listens, _ := f.counts()
			if most := 130; asks > most || listens > most { // between 0.5 s and 1 s
				t.Errorf("in a minute without Redis: %d asks and %d blocking commands, want at most %d each", asks, listens, most)
			}
			f.mu.Lock()
			f.fails, f.deaf = nil, nil
			f.mu.Unlock()
			f.push("q", "x")
			time.Sleep(3 * time.Second)
			if len(p.taken) != 1 {
				t.Error("no task was taken after Redis came back")
			}
			p.stop()
			want := []string{"warn: cannot take tasks error=" + failure.Error(), "info: can take tasks again"}
			if diff := cmp.Diff(want, log.without("failures")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServerThatCannotListenPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		f.deaf = errors.New("ERR unknown command 'blmove'")
		p := newProcess(f, []string{"q"}, defaultPatience, 4, 2, 10*time.Second)
		time.Sleep(time.Minute)
		f.push("q", "1")
		time.Sleep(pollInterval + time.Millisecond) // the look may be due at the moment of the push
		if _, _, left := f.counts(); left != 0 {
			t.Errorf("a task still waits after %v", pollInterval)
		}
		f.push("q", "2", "3", "4", "5", "6", "7", "8")
		time.Sleep(pollInterval + othersPatience.deaf + time.Millisecond)
		if _, _, left := f.counts(); left != 0 {
			t.Errorf("%d tasks still wait although slots are free", left)
		}
		f.push("q", "9")
		p.yard.poke("q")
		time.Sleep(10*time.Second + time.Millisecond)
		p.stop()
		if len(p.taken) != 9 {
			t.Errorf("taken: got %d, want 9", len(p.taken))
		}
	})
}

func TestPokeFindsTheTaskWhereListeningFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		f.deaf = errors.New("NOPERM")
		p := newProcess(f, []string{"q"}, forever, 1, 2, 0)
		time.Sleep(time.Minute)
		f.push("q", "x")
		p.yard.poke("other") // is nobody's business here
		p.yard.poke("q")
		synctest.Wait()
		if len(p.taken) != 1 {
			t.Error("the task was not taken at the poke")
		}
		p.stop()
	})
}

func TestFullServerLetsItsNeighboursWork(t *testing.T) {
	for _, deaf := range []error{nil, errors.New("NOPERM")} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeRedis(t)
			f.deaf = deaf
			p := newProcess(f, []string{"q"}, forever, 4, 3, time.Second)
			time.Sleep(time.Minute)
			start := time.Now()
			for i := range 12 {
				f.push("q", fmt.Sprint(i))
			}
			p.yard.poke("q")
			for range 12 {
				<-p.taken
			}
			if took := time.Since(start); took != time.Second {
				t.Errorf("listening fails with %v: 12 tasks of 1 s on 4 servers with 3 slots each took %v", deaf, took)
			}
			p.stop()
		})
	}
}

func TestFullProcessDoesNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		p := newProcess(f, []string{"q"}, defaultPatience, 2, 3, 10*time.Second)
		for i := range 36 {
			f.push("q", fmt.Sprint(i))
		}
		for range 36 {
			<-p.taken
		}
		if asks, listens, _ := f.counts(); listens > 10 || asks > 36+20 {
			t.Errorf("while all slots were taken for a minute: %d asks for 36 tasks and %d blocking commands", asks, listens)
		}
		p.stop()
	})
}

func TestWakeUpAtTheEndOfPatienceIsNotLost(t *testing.T) {
	f := newFakeRedis(t)
	y := newYard(f.client(), []string{"q"}, silent{})
	me := make(chan wake, 1)
	if _, ok := y.lieDown(me); ok {
		t.Fatal("woken by nothing")
	}
	y.poke("q")
	if w, ok := y.getUp(me); !ok || w.queue != "q" {
		t.Errorf("got %v, %v: want q, true", w.queue, ok)
	}
}

func TestTakerTakesNoMoreThanItHasSlotsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		for i := range 200 {
			f.push("q", fmt.Sprint(i))
		}
		p := newProcess(f, []string{"q"}, forever, 1, 10, time.Second)
		for round := range 20 {
			time.Sleep(time.Second)
			synctest.Wait()
			if _, _, left := f.counts(); 200-left > 10*(round+2) {
				t.Fatalf("after %d s %d tasks were taken by 10 slots", round+1, 200-left)
			}
			if n := p.takers[0].owed.Load(); n != 0 {
				t.Fatalf("after %d s %d tasks are held back", round+1, n)
			}
		}
		if f.atOnce < 2 || f.atOnce > 10 {
			t.Errorf("most tasks in one round trip: got %d, want 2 to 10", f.atOnce)
		}
		p.stop()
	})
}

func TestShutSendsEverybodyHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRedis(t)
		p := newProcess(f, []string{"q"}, forever, 3, 2, 0)
		synctest.Wait()
		start := time.Now()
		p.stop()
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		f.push("q", "x")
		if _, err := askFor(p.takers[0], "q"); !errors.Is(err, errParked) {
			t.Errorf("a closed yard's taker answered %v, want %v", err, errParked)
		}
	})
}

func TestStockIsHandedOutAfterShut(t *testing.T) {
	f := newFakeRedis(t)
	y := newYard(f.client(), []string{"q"}, silent{})
	k := newTaker(f.client(), y, forever, 1, 8, silent{})
	k.appetite = 4
	f.push("q", "1", "2", "3", "4", "5")
	got := []string{}
	for range 6 {
		id, err := askFor(k, "q")
		y.shut()
		if err != nil {
			break
		}
		got = append(got, id)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, got); diff != "" {
		t.Error(diff)
	}
	if _, _, left := f.counts(); left != 1 {
		t.Errorf("left in the queue: got %d, want 1", left)
	}
}
