package main

import (
	"fmt"
	"os"
	"slices"
)

// figure is one quantity of one system under one workload, measured once a round or more often.
type figure struct {
	workload, system, metric, unit string
	values                         []float64
}

// figures are in the order in which they were first measured.
type figures []*figure

// add appends a measurement, and says it.
func (f *figures) add(workload, system, metric, unit string, value float64) {
	fig := f.find(workload, system, metric)
	if fig == nil {
		fig = &figure{workload: workload, system: system, metric: metric, unit: unit}
		*f = append(*f, fig)
	}
	fig.values = append(fig.values, value)
	fmt.Fprintf(os.Stderr, "   %-28s %-44s %s %s\n", system, metric, digits(value), unit)
}

// find returns nil for what was not measured.
func (f figures) find(workload, system, metric string) *figure {
	i := slices.IndexFunc(f, func(g *figure) bool {
		return g.workload == workload && g.system == system && g.metric == metric
	})
	if i < 0 {
		return nil
	}
	return f[i]
}

// median of nothing is 0.
func (f *figure) median() float64 { return median(f.values) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// ratio is the median of a's values by b's, each by that of the same turn; or, where one was measured more often, its median by
// b's. ok is false when one is missing.
func ratio(a, b *figure) (r float64, ok bool) {
	if a == nil || b == nil {
		return 0, false
	}
	if len(a.values) != len(b.values) {
		return a.median() / b.median(), b.median() != 0
	}
	var all []float64
	for i := range a.values {
		if b.values[i] != 0 {
			all = append(all, a.values[i]/b.values[i])
		}
	}
	return median(all), len(all) > 0
}

// digits writes a number with three significant digits, and whole from a hundred on.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
