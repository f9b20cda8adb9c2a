package telemetry

import (
	"slices"

	"fourfold/executor"
)

// Namespace begins the name of every metric.
const Namespace = "fourfold."

// Type is what DogStatsD makes of a metric's values.
type Type string

// The types in use.
const (
	Count        Type = "count"
	Gauge        Type = "gauge"
	Distribution Type = "distribution"
)

// Unit is what a metric's values are numbers of.
type Unit string

// The units in use.
const (
	Seconds    Unit = "second"
	Steps      Unit = "step"
	Runs       Unit = "run"
	Attempts   Unit = "attempt"
	Tokens     Unit = "token"
	Calls      Unit = "call"
	Tasks      Unit = "task"
	Breakers   Unit = "breaker"
	Goroutines Unit = "goroutine"
	Items      Unit = "item"
)

// Metric is one row of the catalogue.
type Metric struct {
	Name        string // without Namespace
	Type        Type
	Unit        Unit
	Tags        []string // keys of Tags(), in the order of the wire
	Global      bool     // a gauge of the whole fleet, sent by one worker: query max, never sum
	Description string
	Question    string // what a reader of the dashboard learns from it
}

var (
	flowStep    = []string{"flow", "step"}
	flowOutcome = []string{"flow", "outcome", "cause"}
	providers   = []string{"model_provider", "model"}
	ofQueue     = []string{"queue"}
)

// catalogue is every metric that a worker sends. METRICS.md is written from it and every datagram is compared with it.
var catalogue = []Metric{
	{
		"step.finished", Count, Steps,
		[]string{"flow", "step", "outcome", "failure_class", "worst_outcome", "queue"},
		false,
		"Settled steps, one each.", "How do steps end, and what do their results rest on?",
	},
	{
		"step.latency", Distribution, Seconds,
		[]string{"flow", "step", "outcome"},
		false,
		"Time from a step's beginning to its outcome, all attempts and pauses included. Skipped steps have none.", "How long do steps take?",
	},
	{
		"step.attempts", Distribution, Attempts,
		[]string{"flow", "step", "outcome"},
		false,
		"Attempts a step took; 0 for an abstained one. Skipped steps have none.", "How often must steps be tried again, and which exhaust their budget?",
	},
	{
		"step.tokens", Count, Tokens,
		[]string{"flow", "step", "model_provider", "model", "token_type"},
		false,
		"Tokens paid for, over all attempts. What a provider did not report is absent, not 0.", "Where do tokens go?",
	},
	{
		"step.queue_wait", Distribution, Seconds, flowStep, false,
		"Time from when a step could have begun to when it began.", "How long do steps wait for a worker?",
	},
	{
		"step.strays", Gauge, Attempts, flowStep, false,
		"Attempts of the step that outlived their time and still run, in one worker; a 0 is sent once, when they have ended.", "Which steps ignore the end of their time?",
	},
	{
		"step.duplicates", Count, Steps, flowStep, false,
		"Deliveries of steps that were done already or that another worker holds; they cost no call.", "How often does the queue deliver twice?",
	},
	{
		"step.parked", Count, Steps, flowStep, false,
		"Steps put back because no provider could be called.", "Which steps wait for a provider's limit?",
	},
	{
		"step.park_wait", Distribution, Seconds, flowStep, false,
		"How long a parked step is put back for.", "How long do provider limits hold steps up?",
	},
	{
		"run.finished", Count, Runs, flowOutcome, false,
		"Finished runs by their worst outcome and its first cause.", "How do runs end, and why?",
	},
	{
		"run.latency", Distribution, Seconds, flowOutcome, false,
		"Time from a run's submission to its end.", "How long does a document take?",
	},
	{
		"provider.calls", Count, Calls,
		[]string{"model_provider", "model", "error_kind", "status_class"},
		false,
		"Calls to providers, by what went wrong (`none`: answered).", "Which provider fails, and how?",
	},
	{
		"provider.latency", Distribution, Seconds, providers, false,
		"Duration of a call, answered or not.", "Which model is slow?",
	},
	{
		"provider.time_to_first_token", Distribution, Seconds, providers, false,
		"Time to the first token of a streamed answer.", "Which model is slow to begin?",
	},
	{
		"provider.fallbacks", Count, Calls,
		[]string{"from", "to", "error_kind"},
		false,
		"Times that a chain went on to its next provider.", "Who stands in for whom, and why?",
	},
	{
		"provider.breaker_open", Gauge, Breakers,
		[]string{"model_provider"},
		false,
		"Breakers that are open in one worker; a 0 is sent once, when they have closed.", "Which provider is not being called at all?",
	},
	{"queue.pending", Gauge, Tasks, ofQueue, true, "Tasks that a worker could begin now.", "Is there a backlog?"},
	{"queue.active", Gauge, Tasks, ofQueue, true, "Steps that workers have claimed.", "Is the fleet busy?"},
	{"queue.scheduled", Gauge, Tasks, ofQueue, true, "Tasks due later.", "How much is put back for later?"},
	{"queue.retry", Gauge, Tasks, ofQueue, true, "Tasks waiting to be delivered again.", "How much is being redelivered?"},
	{"queue.archived", Gauge, Tasks, ofQueue, true, "Tasks that could not be handled at all.", "Does anything need a person?"},
	{"queue.outbox", Gauge, Tasks, ofQueue, true, "Follow-ons not yet handed to the queue.", "Is work stuck between state and queue?"},
	{"queue.oldest_pending", Gauge, Seconds, ofQueue, true, "Age of the oldest pending task.", "How far behind is the fleet?"},
	// Distributions, because workers on one node share an agent, which would keep the gauge of one of them only.
	{"worker.busy", Distribution, Steps, nil, false, "Steps being run in a worker, as each worker says every few seconds.", "How full are the workers?"},
	{"worker.slots", Distribution, Steps, nil, false, "Steps that a worker can run at once.", "How much can a worker do?"},
	{"worker.goroutines", Distribution, Goroutines, nil, false, "Goroutines of a worker.", "Does anything leak?"},
	{"worker.strays", Distribution, Attempts, nil, false, "Attempts in a worker that outlived their time and still run.", "Is anything hanging?"},
	{"worker.parked", Distribution, Steps, nil, false, "Steps that a worker parked and that are not due yet.", "Is work waiting for providers?"},
	{
		"sweeper.found", Count, Steps,
		[]string{"queue", "found"},
		false,
		"What the sweeper mended.", "How much work would have been lost or late?",
	},
	{
		"drain.steps", Count, Steps,
		[]string{"result"},
		false,
		"What became of the steps in flight when a worker stopped.", "Is the drain time long enough?",
	},
	{
		"telemetry.dropped", Count, Items,
		[]string{"part"},
		false,
		"Log lines and metric payloads that their receiver did not take.", "Can the rest of this dashboard be believed?",
	},
}

// Catalogue returns every metric that a worker sends, by area.
func Catalogue() []Metric {
	all := slices.Clone(catalogue)
	for i := range all {
		all[i].Tags = slices.Clone(all[i].Tags)
	}
	return all
}

// Series is the most combinations of tags that the metric can have in one worker, with every name up to its limit.
//
// Some tags hang together: a step belongs to one flow and a model to one provider, so that pairs are limited;
// an outcome has classes of its own and a marker that is no better than itself; an answered call has no kind of error.
func (m Metric) Series() int {
	most := map[string]int{}
	for _, t := range Tags() {
		most[t.Key] = len(t.Values)
		if t.Values == nil {
			most[t.Key] = t.Limit + 1 // Other
		}
	}
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(m.Tags, k) })
	}
	together := func(n int, keys ...string) {
		if has(keys...) {
			most[keys[0]] = n
			for _, k := range keys[1:] {
				most[k] = 1
			}
		}
	}
	together(LimitSteps+most["flow"], "flow", "step") // each flow may have an Other step
	together(LimitModels+most["model_provider"], "model_provider", "model")
	together(outcomeCombinations(), "outcome", "failure_class", "worst_outcome")
	n := 1
	for _, key := range m.Tags {
		n *= most[key]
	}
	return n
}

// outcomeCombinations counts the ways in which outcome, failure class and worst outcome can occur together.
func outcomeCombinations() int {
	n := 0
	for _, o := range executor.Outcomes() {
		for _, worst := range executor.Outcomes() {
			if executor.Worst(o, worst) != worst {
				continue
			}
			n++
			if o == executor.OutcomeDegraded || o == executor.OutcomeFailed {
				n += len(executor.FailureClasses())
			}
		}
	}
	return n
}
