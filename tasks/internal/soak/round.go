package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// report is what came of a round.
type report struct {
	round, runs, units, calls, repeated, died int
	faults                                    map[fault]int
	took                                      time.Duration
	wrong                                     []string
}

// round submits the runs while faults strike, waits for all of them, and judges.
func (w *world) round(n int) report {
	begin := time.Now()
	r := report{round: n}
	dir := fmt.Sprint("round-", n)
	subs := w.draw(dir)
	r.runs = len(subs)
	seen := len(w.model.Record("soak "))
	producing, died := w.produce(subs)
	disruptions, counts := w.chaos(n)
	producing.Wait()
	r.faults, r.died = counts, int(died.Load())
	j := &judge{world: w, report: &r, disruptions: disruptions}
	j.runs(subs)
	j.leftovers()
	j.calls(subs, w.model.Record("soak ")[seen:])
	r.wrong = append(r.wrong, w.take()...)
	r.took = time.Since(begin)
	return r
}

// draw makes the round's flows and their runs, in random order.
func (w *world) draw(dir string) []*submission {
	var subs []*submission
	for i := range w.flows {
		p, err := newPlan(w.rng, w.dir, fmt.Sprintf("%s-%d", dir, i))
		must(err)
		for range w.settings.runs {
			w.runs++
			subs = append(subs, &submission{plan: p, run: w.runs})
		}
	}
	w.rng.Shuffle(len(subs), func(i, j int) { subs[i], subs[j] = subs[j], subs[i] })
	return subs
}

// producers is how many submit at a time.
const producers = 3

// produce submits for about as long as the faults go on.
func (w *world) produce(subs []*submission) (*sync.WaitGroup, *atomic.Int64) {
	var wg sync.WaitGroup
	var died, next atomic.Int64
	each := time.Duration(producers) * w.pause / 2 * time.Duration(len(w.faults)) / time.Duration(len(subs))
	for range producers {
		rng := rand.New(rand.NewPCG(w.rng.Uint64(), 5)) //nolint:gosec // repeatable on purpose
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(subs); i = next.Add(1) - 1 {
				if w.submit(rng, subs[i]) {
					died.Add(1)
				}
				time.Sleep(upTo(rng, 2*each))
			}
		})
	}
	return &wg, &died
}

// patiently is the time for which one run is waited for.
func (w *world) patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), w.patience)
}
