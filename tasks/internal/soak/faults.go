package main

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// disruption is a reason for which a worker's calls may be made again by another.
type disruption struct {
	what     fault
	worker   string
	from, to time.Time
	excused  map[string]bool // units that it was the reason for
}

// chaos plays the round's faults, one after another; workers that end are followed by new ones. It returns when the fleet is
// whole again.
func (w *world) chaos(round int) (all []*disruption, counts map[fault]int) {
	counts = map[fault]int{}
	faults := append([]fault(nil), w.faults...)
	w.rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	var stopped sync.WaitGroup
	var away []interval
	for _, f := range faults {
		time.Sleep(upTo(w.rng, w.pause))
		counts[f]++
		switch f {
		case kill, end:
			all = append(all, w.replace(f, w.rng.IntN(len(w.fleet)))...)
		case stop:
			d, p := &disruption{what: stop, from: time.Now(), excused: map[string]bool{}}, w.fleet[w.rng.IntN(len(w.fleet))]
			d.worker = p.name
			d.to = d.from.Add(time.Hour) // until it goes on
			all = append(all, d)
			_ = p.cmd.Process.Signal(syscall.SIGSTOP) // fails only when it has ended
			stopped.Go(func() {
				time.Sleep(w.lease + w.lease/2)
				_ = p.cmd.Process.Signal(syscall.SIGCONT) // likewise
				d.to = time.Now()
			})
		case restart:
			w.redis.Kill()
			w.redis.Restart()
		case outage:
			away = append(away, during(func() {
				w.redis.Kill()
				time.Sleep(w.outages[round%len(w.outages)])
				w.redis.Restart()
			}))
		case silence:
			away = append(away, during(func() {
				w.redis.Pause()
				time.Sleep(w.outages[round%len(w.outages)])
				w.redis.Cont()
			}))
		}
	}
	stopped.Wait()
	return slices.DeleteFunc(all, func(d *disruption) bool { return d.what == end && !d.overlaps(away) }), counts
}

// interval is a time in which Redis was away.
type interval struct{ from, to time.Time }

func during(do func()) interval {
	from := time.Now()
	do()
	return interval{from, time.Now()}
}

func (d *disruption) overlaps(some []interval) bool {
	return slices.ContainsFunc(some, func(i interval) bool { return !i.to.Before(d.from) && !i.from.After(d.to) })
}

// beyondDrain is more than a worker takes to end beyond its drain.
const beyondDrain = 3 * time.Second

// replace ends a worker and starts another. Of an orderly end nothing is excused, since drain is longer than any call; unless
// Redis is away meanwhile, so that what has been answered cannot be recorded.
func (w *world) replace(f fault, i int) []*disruption {
	p, now := w.fleet[i], time.Now()
	if f == end {
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may be stopped
		_ = p.cmd.Process.Signal(os.Signal(syscall.SIGTERM))
		go func() { // the fleet does not wait for it
			<-p.ended
			if status := p.cmd.ProcessState.ExitCode(); status != 0 {
				w.Errorf("worker %s ended with status %d after SIGTERM", p.name, status)
			}
		}()
		w.fleet[i] = w.start()
		return []*disruption{{what: f, worker: p.name, from: now, to: now.Add(w.drain + beyondDrain), excused: map[string]bool{}}}
	}
	p.die()
	w.fleet[i] = w.start()
	return []*disruption{{what: f, worker: p.name, from: now, to: time.Now(), excused: map[string]bool{}}}
}
