package demo

import (
	"fmt"
	"slices"
	"strings"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
)

// providers are the names of those that the flow's chains ask, by what they are.
type providers struct{ simulated, real []string }

// asked reads the configuration; the demo's own providers are simulated, and need no names.
func (f *fleet) asked() (p providers) {
	file := f.options.Config
	if file == nil {
		return p
	}
	var seen []string
	for _, step := range f.bundle.Flow().Steps {
		for _, name := range file.Chains[step.Chain].Providers {
			if slices.Contains(seen, name) {
				continue
			}
			seen = append(seen, name)
			if file.Providers[name].Kind == config.KindSimulated {
				p.simulated = append(p.simulated, name)
			} else {
				p.real = append(p.real, name)
			}
		}
	}
	return p
}

// text says who answers, and who is paid.
func (p providers) text() string {
	are := "are"
	if len(p.real) == 1 {
		are = "is"
	}
	switch {
	case len(p.real) == 0 && len(p.simulated) == 0:
		return "The providers are SIMULATED: no model is asked, their answers and faults are scripted."
	case len(p.real) == 0:
		return "The providers are SIMULATED (" + strings.Join(p.simulated, ", ") + "): no model is asked, and nothing is paid for."
	case len(p.simulated) == 0:
		return "The providers are REAL: " + strings.Join(p.real, ", ") + " " + are + " asked and paid for."
	}
	return "Providers that are REAL: " + strings.Join(p.real, ", ") + " " + are + " asked and paid for. SIMULATED: " + strings.Join(p.simulated, ", ") + "."
}

// say prints the headline where people read.
func (f *fleet) say() {
	w := f.options.people()
	fmt.Fprintf(w, "Fourfold demo: %s through the flow %s, one worker with %d slots.\n",
		cli.Count(len(f.documents), "document"), f.bundle.Flow().Name, concurrency)
	where := "Redis is embedded and in memory."
	if f.options.Config != nil {
		where = "Redis is embedded and in memory; the one in the configuration is not touched."
	}
	fmt.Fprintf(w, "%s\n%s\n\n", where, cli.Wrap(f.asked().text(), " ", ""))
}
