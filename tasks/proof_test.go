package tasks

import (
	"testing"
)

// TestADeathAtAnyCommandChangesNothing kills producer, worker or sweeper at each Redis command in turn.
func TestADeathAtAnyCommandChangesNothing(t *testing.T) {
	for seed := range uint64(5) {
		for _, after := range []bool{false, true} {
			for at := 1; ; at++ {
				w := newWorld(t, seed, seed%2 == 1)
				w.fault.at, w.fault.after, w.fault.strike = at, after, w.fault.die
				w.submit()
				got := w.play(1)
				extra := 0
				if w.fault.hit == "complete" && !w.fault.kept {
					extra = 1
				}
				w.judge(got, extra)
				w.redis.Close()
				if w.fault.hit == "" {
					break // the run was over before
				}
			}
		}
	}
}

// TestALateWorkerChangesNothing lets a worker stall at each command until the others have ended the run, and then go on.
func TestALateWorkerChangesNothing(t *testing.T) {
	for seed := range uint64(6) {
		for at := 1; ; at++ {
			w := newWorld(t, seed, false)
			w.submit()
			stalled, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			late := w.process()
			w.fault.at, w.fault.seen = at, 0
			w.fault.strike = func() { close(stalled); <-goOn }
			go func() {
				defer close(ended)
				for range 200 {
					d, ok := w.queue.take()
					if !ok {
						return
					}
					deliver(late, d)
				}
			}()
			select {
			case <-stalled:
			case <-ended:
			}
			struck := w.fault.hit != ""
			w.fault = &fault{death: make(chan struct{})}
			before := w.play(1)
			w.judge(before, 1)
			close(goOn)
			<-ended
			w.judge(w.play(1), 1)
			w.redis.Close()
			if !struck {
				break
			}
		}
	}
}

// TestTheOutboxAloneBringsEveryRing kills producer, worker or sweeper at each command where nothing tells that a ring is
// lost: whoever takes an entry off the outbox has rung for it before.
func TestTheOutboxAloneBringsEveryRing(t *testing.T) {
	worlds := []func() *world{func() *world { return fanWorld(t) }}
	for seed := range uint64(3) {
		worlds = append(worlds, func() *world { return newWorld(t, 300+seed, false) })
	}
	for _, build := range worlds {
		for _, after := range []bool{false, true} {
			for at := 1; ; at++ {
				w := build()
				w.blind = true
				w.fault.at, w.fault.after, w.fault.strike = at, after, w.fault.die
				w.submit()
				w.judge(w.play(1), 1)
				w.redis.Close()
				if w.fault.hit == "" {
					break
				}
			}
		}
	}
}

// TestTwoSweepersDoNoHarm lets two sweepers work as if neither saw the other's lock.
func TestTwoSweepersDoNoHarm(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, 100+seed, true)
		w.submit()
		w.judge(w.play(2), 0)
		w.redis.Close()
	}
}
