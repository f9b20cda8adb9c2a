package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fourfold/provider"
)

// Offer is what a worker's configuration offers.
type Offer struct {
	Chains   map[string]*provider.Chain
	Handlers map[string]bool
}

// OfferError says what a flow names that a configuration lacks, one line per step.
type OfferError struct {
	Flow  string
	Lacks []string
}

func (e *OfferError) Error() string {
	return fmt.Sprintf("flow %s cannot run with this configuration: %s", e.Flow, strings.Join(e.Lacks, "; "))
}

// Check holds the flow against an offer: the chains and handlers that it names must be there, and somebody in the
// chain of a step must be able to do all that the step requires. The error is an *OfferError with everything that
// is missing.
func (f *Flow) Check(o Offer) error {
	var lacks []string
	for _, s := range f.Steps {
		if message := o.lacks(s); message != "" {
			lacks = append(lacks, fmt.Sprintf("step %s %s", s.ID, message))
		}
	}
	if len(lacks) > 0 {
		return &OfferError{f.Name, lacks}
	}
	return nil
}

func (o Offer) lacks(s *Step) string {
	if s.Handler != "" {
		if o.Handlers[s.Handler] {
			return ""
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(o.Handlers)), func(n string) bool { return !o.Handlers[n] })
		return fmt.Sprintf("needs the handler %q; the program registers %s%s", s.Handler, list(names, "none"), Suggest(s.Handler, names))
	}
	chain := o.Chains[s.Chain]
	if chain == nil {
		names := slices.Sorted(maps.Keys(o.Chains))
		return fmt.Sprintf("needs the chain %q; the configuration has %s%s", s.Chain, list(names, "none"), Suggest(s.Chain, names))
	}
	if len(chain.Able(s.Requires)) == 0 {
		return fmt.Sprintf("requires %s, which no provider of the chain %q has all of", list(capabilityNames(s.Requires), "nothing"), s.Chain)
	}
	return ""
}
