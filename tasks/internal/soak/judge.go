package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/internal/openaitest"
	"fourfold/tasks"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

// judge compares a round with what it must have been.
type judge struct {
	*world
	*report
	disruptions []*disruption
}

func (j *judge) fault(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

// runs waits for every run and compares it with the pure evaluation.
func (j *judge) runs(subs []*submission) {
	ctx, cancel := j.patiently()
	defer cancel()
	for _, s := range subs {
		status, err := j.client.Wait(ctx, s.id, tasks.NoValues)
		if err != nil {
			j.fault("run %d (%s) of %s: %v", s.run, s.id, s.plan.name, err)
			continue
		}
		if diff := cmp.Diff(s.plan.want, resultOf(status, s.plan)); diff != "" {
			j.fault("run %d (%s) of %s differs from the pure evaluation (-want +got):\n%s", s.run, s.id, s.plan.name, diff)
		}
		for _, st := range status.Steps { // a crash is no attempt
			if want := s.plan.attempts(st.Step.String()); st.Attempts != want {
				j.fault("run %d (%s) of %s: step %s has %d attempts, want %d", s.run, s.id, s.plan.name, st.Step, st.Attempts, want)
			}
		}
	}
}

// attempts is one for each call that the step must make.
func (p *plan) attempts(id string) int {
	if _, ok := p.calls[id+".0"]; ok {
		return p.lists[id]
	}
	if _, ok := p.calls[id]; ok {
		return 1
	}
	return 0
}

// resultOf writes a status in the words of the oracle.
func resultOf(s tasks.Status, p *plan) oracle.RunResult {
	c := s.Counts
	res := oracle.RunResult{
		Marker: markerOf(s.Marker, p), Counts: [5]int{c.Abstained, c.OK, c.Degraded, c.Failed, c.Skipped}, Calls: p.want.Calls,
	}
	for _, st := range s.Steps {
		own := oracle.Own{Outcome: st.Outcome, Cause: runstate.Cause(st.Cause)}
		res.Steps = append(res.Steps, oracle.StepResult{Own: own, Skipped: st.Skipped, Marker: markerOf(st.Marker, p)})
	}
	return res
}

func markerOf(m tasks.Marker, p *plan) runstate.Marker {
	return runstate.NewMarker(m.Outcome, slices.Index(p.ids, m.Step.String()), runstate.Cause(m.Cause))
}

// leftovers waits until nothing of the ended runs is left to ring, to extend or to visit.
func (j *judge) leftovers() {
	sets := []string{"outbox", "claims", "due"}
	left := map[string]int64{}
	for deadline := time.Now().Add(time.Minute + 5*j.lease); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		clear(left)
		for _, set := range sets {
			n, err := j.rdb.ZCard(context.Background(), "fourfold:{default}:"+set).Result()
			if err != nil || n > 0 {
				left[set] = n
			}
		}
		if len(left) == 0 {
			return
		}
	}
	j.fault("left behind after all runs had ended: %v", left)
}

// calls counts what the server was asked.
func (j *judge) calls(subs []*submission, calls []openaitest.Call) {
	made := map[string]map[string][]openaitest.Call{}
	for _, c := range calls {
		a := unitOf(c)
		if made[a.run] == nil {
			made[a.run] = map[string][]openaitest.Call{}
		}
		made[a.run][a.unit] = append(made[a.run][a.unit], c)
	}
	j.report.calls = len(calls)
	for _, s := range subs {
		of := made[fmt.Sprint(s.run)]
		for _, unit := range slices.Sorted(maps.Keys(s.plan.calls)) {
			j.units++
			if len(of[unit]) == 0 {
				j.fault("run %d (%s): %s was never asked for", s.run, s.id, unit)
			}
			for _, c := range of[unit] {
				if diff := cmp.Diff(s.plan.calls[unit], unitOf(c).inputs); diff != "" {
					j.fault("run %d (%s): %s was handed other inputs than it must be (-want +got):\n%s", s.run, s.id, unit, diff)
				}
			}
			j.repeats(s, unit, of[unit])
		}
		for _, unit := range slices.Sorted(maps.Keys(of)) {
			if _, ok := s.plan.calls[unit]; !ok {
				j.fault("run %d (%s): %s was asked for, but abstains or is skipped", s.run, s.id, unit)
			}
		}
	}
	for _, d := range j.disruptions {
		if len(d.excused) > j.concurrency {
			j.fault("%d steps were asked for again because of one %s of %s, which had %d slots", len(d.excused), d.what, d.worker, j.concurrency)
		}
	}
}

// repeats finds the reason for each call after a unit's first.
func (j *judge) repeats(s *submission, unit string, calls []openaitest.Call) {
	for i := 1; i < len(calls); i++ {
		j.repeated++
		before, after := calls[i-1], calls[i]
		at := slices.IndexFunc(j.disruptions, func(d *disruption) bool {
			return d.worker == before.Key && !d.to.Before(before.At) && !d.from.After(after.At)
		})
		if at < 0 {
			j.fault("run %d (%s): %s was asked for again by %s, %s after %s, which was neither killed nor stopped, nor ended while Redis was away", s.run, s.id, unit,
				after.Key, after.At.Sub(before.At).Round(time.Millisecond), before.Key)
			continue
		}
		j.disruptions[at].excused[fmt.Sprintf("%d %s", s.run, unit)] = true
	}
}
