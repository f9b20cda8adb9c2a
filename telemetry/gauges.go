package telemetry

import (
	"sync"

	"fourfold/executor"
	"fourfold/provider"
)

// gauges are values that hold until they change. They are sent again at each flush, since a receiver forgets a gauge that it
// is not told of; but a 0 only once. Workers on one node share an agent, which keeps the last value that any of them sent: a
// worker that sees nothing amiss must not cover what another one sees.
type gauges struct {
	mu       sync.Mutex
	breakers map[breakerKey]bool // open
	kinds    map[provider.Name]provider.ModelProvider
	stray    map[strayKey]int64
}

type breakerKey struct {
	provider provider.Name
	model    executor.ModelVersion
}

type strayKey struct {
	flow string
	step executor.StepID
}

func (g *gauges) breaker(n provider.Name, model executor.ModelVersion, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breakers == nil {
		g.breakers = map[breakerKey]bool{}
	}
	g.breakers[breakerKey{n, model}] = open
}

// called remembers what kind of provider n is: breakers are told by name only.
func (g *gauges) called(n provider.Name, kind provider.ModelProvider) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kinds == nil {
		g.kinds = map[provider.Name]provider.ModelProvider{}
	}
	g.kinds[n] = kind
}

// strays replaces the strays by step; nil says nothing about them. A step that is no longer named is sent once more, as 0.
func (g *gauges) strays(now []StepStrays) {
	if now == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stray == nil {
		g.stray = map[strayKey]int64{}
	}
	for k := range g.stray {
		g.stray[k] = 0
	}
	for _, s := range now {
		g.stray[strayKey{s.Flow, s.Step}] = s.Strays
	}
}

func (g *gauges) send(to sender, n *names) {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := map[string]float64{}
	for k, isOpen := range g.breakers {
		kind := n.modelProvider(g.kinds[k.provider])
		if isOpen {
			open[kind]++
			continue
		}
		open[kind] += 0
		delete(g.breakers, k)
	}
	for kind, count := range open {
		to.gauge("provider.breaker_open", count, []string{tag("model_provider", kind)})
	}
	for k, count := range g.stray {
		to.gauge("step.strays", float64(count), n.flowStep(k.flow, k.step))
		if count == 0 {
			delete(g.stray, k)
		}
	}
}
