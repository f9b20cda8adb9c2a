package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// scope is what the templates and expressions of a step may see.
type scope struct {
	step     string
	needs    map[string]string // step id by the names that reach it: the id itself, and with _ for -
	allSteps map[string]int    // ids of the whole flow
	item     bool              // item and index
}

// usage is which inputs a template or expression reads, so that nothing else is decoded for it.
type usage struct {
	input, item, allSteps bool
	steps                 map[string]bool
}

func (u usage) none() bool { return !u.input && !u.item && !u.allSteps && len(u.steps) == 0 }

// alias is a step id as it is written where a dash would be a minus sign.
func alias(id string) string { return strings.ReplaceAll(id, "-", "_") }

// How the two languages write a step with a dash.
const (
	expressionForm = `steps[%q]`
	templateForm   = `(index .steps %q)`
)

// noItem is why item and index cannot be read.
const noItem = "is there for the items of a for_each step only"

// refuseStep says why a step cannot be read here, or nothing when it can.
func (s scope) refuseStep(name, form string) string {
	if _, ok := s.needs[name]; ok {
		return ""
	}
	for id := range s.allSteps {
		if id == name || alias(id) == name {
			if id == s.step {
				return fmt.Sprintf("step %q cannot read its own value", id)
			}
			return fmt.Sprintf("step %q is not in the needs of %q", id, s.step)
		}
	}
	ids := s.needed()
	for _, id := range ids { // steps.classify-tables reads as a subtraction
		if strings.HasPrefix(id, name+"-") {
			return fmt.Sprintf("there is no step %q; for %q write steps.%s or "+form, name, id, alias(id), id)
		}
	}
	return fmt.Sprintf("there is no step %q%s", name, Suggest(name, ids))
}

func (s scope) needed() []string {
	return slices.Sorted(maps.Values(s.needs))
}

// refuseParentField says why a step has no such field.
func refuseParentField(name string) string {
	if name == "value" || name == "outcome" {
		return ""
	}
	return fmt.Sprintf("a step has value and outcome, not %q; its value's fields are under .value", name)
}
