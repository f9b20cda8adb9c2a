package main

import (
	"fmt"
	"io"
	"time"
)

// table prints a line for each round as it ends, and all that differs at the end.
type table struct {
	out    io.Writer
	sum    report
	rounds int
}

const columns = "%6v %6v %6v %6v %9v %6v %6v %5v %5v %6v %8v %7v  %s\n"

func newTable(out io.Writer) *table {
	fmt.Fprintf(out, columns, "round", "runs", "units", "calls", "repeated", "died", "kills", "ends", "stops", "redis", "took", "differ", "")
	return &table{out: out, sum: report{faults: map[fault]int{}}}
}

func (t *table) row(r report) {
	t.line(fmt.Sprint(r.round+1), r)
	t.rounds++
	t.sum.runs += r.runs
	t.sum.units += r.units
	t.sum.calls += r.calls
	t.sum.repeated += r.repeated
	t.sum.died += r.died
	t.sum.took += r.took
	for f, n := range r.faults {
		t.sum.faults[f] += n
	}
	t.sum.wrong = append(t.sum.wrong, r.wrong...)
}

func (t *table) line(name string, r report) {
	verdict := "ok"
	if len(r.wrong) > 0 {
		verdict = "DIFFERS"
	}
	fmt.Fprintf(t.out, columns, name, r.runs, r.units, r.calls, r.repeated, r.died, r.faults[kill], r.faults[end], r.faults[stop],
		r.faults[restart]+r.faults[outage]+r.faults[silence], r.took.Round(100*time.Millisecond), len(r.wrong), verdict)
}

// end prints the sum and what differs, and says whether nothing does.
func (t *table) end() bool {
	t.line("all", t.sum)
	for _, w := range t.sum.wrong {
		fmt.Fprintln(t.out, w)
	}
	return t.rounds > 0 && len(t.sum.wrong) == 0
}
