package telemetry

import (
	"slices"
	"strings"
	"sync"

	"fourfold/executor"
	"fourfold/provider"
)

// Limits are how many different names of each kind a worker puts into tags. What comes after them is tagged `other`: a
// producer that invents names, or a provider that answers with a new model every time, cannot multiply the metrics.
// (The log always has the name itself.)
const (
	LimitFlows     = 64
	LimitSteps     = 512 // over all flows
	LimitQueues    = 16
	LimitModels    = 64 // over all model providers
	LimitProviders = 32
)

// Other is the tag value of names over their limit and of words that are not known.
const Other = "other"

// None is the tag value of what there is none of.
const None = "none"

// Tag describes a tag key: the values it can have, or the limit of names where values come from configuration and flows.
type Tag struct {
	Key    string
	Values []string // nil: names
	Limit  int      // of names; Other comes on top
	Source string   // where the names come from
}

var (
	runCauses    = append(stringsOf(executor.FailureClasses()), "canceled", "deadline", "dependency", "crash", "rejected")
	sweeperFinds = []string{"redriven", "relayed", "deadline", "crash"}
	drainResults = []string{"finished", "requeued", "cut"}
)

// Tags returns every tag key of the catalogue.
func Tags() []Tag {
	outcomes := stringsOf(executor.Outcomes())
	return []Tag{
		{Key: "flow", Limit: LimitFlows, Source: "flow files"},
		{Key: "step", Limit: LimitSteps, Source: "flow files"},
		{Key: "queue", Limit: LimitQueues, Source: "configuration"},
		{Key: "model_provider", Limit: LimitProviders, Source: "configuration"},
		{Key: "model", Limit: LimitModels, Source: "providers' answers"},
		{Key: "from", Limit: LimitProviders, Source: "configuration"},
		{Key: "to", Limit: LimitProviders, Source: "configuration"},
		{Key: "outcome", Values: outcomes},
		{Key: "worst_outcome", Values: outcomes},
		{Key: "failure_class", Values: append([]string{None}, stringsOf(executor.FailureClasses())...)},
		{Key: "cause", Values: append([]string{None, Other}, runCauses...)},
		{Key: "token_type", Values: []string{"input", "output"}},
		{Key: "error_kind", Values: append([]string{None}, stringsOf(provider.Kinds())...)},
		{Key: "status_class", Values: []string{None, "2xx", "3xx", "4xx", "5xx"}},
		{Key: "found", Values: append([]string{Other}, sweeperFinds...)},
		{Key: "result", Values: drainResults},
		{Key: "part", Values: []string{"log", "metrics"}},
	}
}

func stringsOf[T interface{ String() string }](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return texts
}

// tag returns key:value; an empty value is none.
func tag(key, value string) string {
	if value == "" {
		value = None
	}
	return key + ":" + value
}

// with returns tags and more, without writing behind tags.
func with(tags []string, more ...string) []string { return append(slices.Clip(tags), more...) }

// word returns s if it is one of known, none if it is empty and Other otherwise.
func word(s string, known []string) string {
	if s == "" {
		return None
	}
	if slices.Contains(known, s) {
		return s
	}
	return Other
}

// statusClass is the tag value of an HTTP status.
func statusClass(status int) string {
	if status < 200 || status > 599 {
		return None
	}
	return [...]string{"2xx", "3xx", "4xx", "5xx"}[status/100-2]
}

// names admits the first names of each kind up to its limit.
type names struct {
	mu   sync.Mutex
	seen map[string]map[string]bool // by kind
}

// admit returns name if it may be a tag value: none if it is empty, Other if it is not spelt like an identifier or too many
// came before it.
func (n *names) admit(kind string, limit int, name string) string {
	if name == "" {
		return None
	}
	if !isIdent(name) {
		return Other
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]map[string]bool{}
	}
	set := n.seen[kind]
	if set == nil {
		set = map[string]bool{}
		n.seen[kind] = set
	}
	if !set[name] {
		if len(set) >= limit {
			return Other
		}
		set[strings.Clone(name)] = true
	}
	return name
}

func (n *names) flow(name string) string  { return n.admit("flow", LimitFlows, name) }
func (n *names) queue(name string) string { return n.admit("queue", LimitQueues, name) }

// step admits a step of a flow: the limit is on pairs, since a step belongs to one flow.
func (n *names) step(flow string, step executor.StepID) string {
	if step.String() == "" {
		return None
	}
	if len(flow)+1+len(step.String()) > longestIdent || n.admit("step", LimitSteps, flow+"/"+step.String()) == Other {
		return Other
	}
	return step.String()
}

func (n *names) flowStep(flow string, step executor.StepID) []string {
	flow = n.flow(flow)
	return []string{tag("flow", flow), tag("step", n.step(flow, step))}
}

func (n *names) model(m executor.ModelVersion) string {
	return n.admit("model", LimitModels, m.String())
}

func (n *names) modelProvider(p provider.ModelProvider) string {
	return n.admit("model_provider", LimitProviders, p.String())
}

func (n *names) provider(p provider.Name) string {
	return n.admit("provider", LimitProviders, p.String())
}
