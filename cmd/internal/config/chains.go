package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"fourfold/cmd/internal/handlers"
	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/provider/anthropic"
	"fourfold/provider/gemini"
	"fourfold/provider/openai"
	"fourfold/provider/simulated"
	"fourfold/tasks"
)

// Surroundings are what guarded providers are built into.
type Surroundings struct {
	Env      Env               // where api_key_env is looked up
	Gate     provider.Gate     // fleet-wide limits; nil: none
	Observer provider.Observer // nil: nobody is told
}

// BuildProviders makes every provider's guarded client. Errors name each key that is missing.
func (f *File) BuildProviders(s Surroundings) (map[string]provider.Client, error) {
	clients := map[string]provider.Client{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		c, err := f.buildProvider(name, f.Providers[name], s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		clients[name] = c
	}
	return clients, errors.Join(errs...)
}

// BuildChains makes the chains over the clients that BuildProviders made.
func (f *File) BuildChains(clients map[string]provider.Client, o provider.Observer) map[string]*provider.Chain {
	chains := map[string]*provider.Chain{}
	for name, c := range f.Chains {
		var in []provider.Client
		for _, p := range c.Providers {
			in = append(in, clients[p])
		}
		chain := provider.NewChain(in[0], in[1:]...)
		if o != nil {
			chain = chain.With(provider.ObserveChain(o))
		}
		if len(c.FallbackOn) > 0 {
			var kinds []provider.Kind
			for _, k := range c.FallbackOn {
				kind, _ := provider.ParseKind(k) // checked by Finish
				kinds = append(kinds, kind)
			}
			chain = chain.With(provider.FallbackOn(kinds...))
		}
		chains[name] = chain
	}
	return chains
}

// FleetLimits are the limits that hold across all workers; providers without any are absent.
func (f *File) FleetLimits() map[provider.Name]tasks.Limit {
	limits := map[provider.Name]tasks.Limit{}
	for name, p := range f.Providers {
		if p.Limits != (Limits{}) {
			limits[provider.MustName(name)] = tasks.Limit{InFlight: p.Limits.InFlight, PerMinute: p.Limits.PerMinute}
		}
	}
	return limits
}

// Offer is what a worker with this configuration can do for a flow. Nobody's key is needed to know it.
func (f *File) Offer() (flow.Offer, error) {
	keyless := *f
	keyless.Providers = maps.Clone(f.Providers)
	for name, p := range keyless.Providers {
		p.APIKeyEnv, p.APIKeyFile = "", ""
		keyless.Providers[name] = p
	}
	clients, err := keyless.BuildProviders(Surroundings{})
	if err != nil {
		return flow.Offer{}, err
	}
	offer := flow.Offer{Chains: keyless.BuildChains(clients, nil), Handlers: map[string]bool{}}
	for name := range handlers.Stock() {
		offer.Handlers[name] = true
	}
	return offer, nil
}

// Key reads a provider's API key. No key configured is no error: a server of one's own may need none.
func (p Provider) Key(name string, env Env) (content.Of[string], error) {
	key, err := secret("providers."+name, p.APIKeyEnv, p.APIKeyFile, env)
	if err != nil || key == "" {
		return content.Of[string]{}, err
	}
	return content.New(key), nil
}

func (f *File) buildProvider(name string, p Provider, s Surroundings) (provider.Client, error) {
	key, err := p.Key(name, s.Env)
	if err != nil {
		return nil, err
	}
	bare, err := f.connect(name, p, key)
	if err != nil {
		return nil, fmt.Errorf("providers.%s: %w", name, err)
	}
	guard := provider.GuardConfig{
		ModelProvider: p.modelProvider(),
		Model:         p.modelVersion(),
		Timeouts:      provider.Timeouts{Total: p.Timeout.Std(), FirstToken: p.FirstTokenTimeout.Std(), Idle: p.IdleTimeout.Std()},
		Stream:        p.Stream,
		Observer:      s.Observer,
	}
	if !p.Breaker.Disabled {
		guard.Breaker = provider.NewBreaker(provider.BreakerConfig{Failures: p.Breaker.Failures, Cooldown: p.Breaker.Cooldown.Std()})
	}
	guard.Gate = s.Gate // also without limits: a provider that asked to be left alone is left alone by the fleet
	return provider.Guard(bare, guard), nil
}

// modelVersion is the model as configured, for records of calls that failed before a model answered.
func (p Provider) modelVersion() executor.ModelVersion {
	if p.Kind == KindSimulated && p.Model == "" {
		return executor.ModelVersionOf(simulated.DefaultModel)
	}
	return executor.ModelVersionOf(p.Model)
}

// connect makes the client of a provider's kind, without guard.
func (f *File) connect(name string, p Provider, key content.Of[string]) (provider.Client, error) {
	id, can, said := provider.MustName(name), p.capabilities(), p.modelProvider()
	connections, headers := f.Concurrency, p.HeaderTimeout.Std()
	switch p.Kind {
	case "openai":
		flavour, err := openai.ParseFlavour(p.Flavour)
		if err != nil {
			return nil, err
		}
		return openai.New(openai.Config{
			Name: id, Model: p.Model, BaseURL: p.BaseURL, Key: key, Capabilities: can, Flavour: flavour, ModelProvider: said,
			Headers: p.Headers, Query: p.Query, MaxConnections: connections, HeaderTimeout: headers, CAFile: p.CAFile, Proxy: p.Proxy,
		})
	case "anthropic":
		return anthropic.New(anthropic.Config{
			Name: id, Model: p.Model, BaseURL: p.BaseURL, Key: key, Capabilities: can, ModelProvider: said,
			Headers: p.Headers, Query: p.Query, MaxConnections: connections, HeaderTimeout: headers, CAFile: p.CAFile, Proxy: p.Proxy,
		})
	case "gemini":
		return gemini.New(gemini.Config{
			Name: id, Model: p.Model, BaseURL: p.BaseURL, Key: key, Capabilities: can, ModelProvider: said,
			Headers: p.Headers, Query: p.Query, MaxConnections: connections, HeaderTimeout: headers, CAFile: p.CAFile, Proxy: p.Proxy,
		})
	case KindSimulated:
		script, err := f.script(p.Script)
		if err != nil {
			return nil, err
		}
		return simulated.New(simulated.Config{Name: id, Capabilities: can, Model: p.Model, Script: script})
	}
	return nil, errors.New("unknown kind") // refused by Finish
}

// capabilities are those named; Finish has refused unknown ones.
func (p Provider) capabilities() (can provider.Capabilities) {
	for _, name := range p.Capabilities {
		if c, err := provider.ParseCapability(name); err == nil {
			can = can.Union(provider.CapabilitiesOf(c))
		}
	}
	return can
}

// modelProvider is OpenTelemetry's gen_ai.provider.name: as configured, or by kind and flavour.
func (p Provider) modelProvider() provider.ModelProvider {
	name := map[string]string{"anthropic": "anthropic", "gemini": "gcp.gemini", KindSimulated: "simulated"}[p.Kind]
	if p.ModelProvider != "" {
		name = p.ModelProvider
	} else if flavour, err := openai.ParseFlavour(p.Flavour); err == nil && p.Kind == "openai" {
		return flavour.ModelProvider()
	}
	said, _ := provider.ParseModelProvider(name) // checked by Finish
	return said
}

// script reads a simulation's script; its path counts from the configuration file.
func (f *File) script(path string) (simulated.Script, error) {
	if path == "" {
		return simulated.Script{}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.name), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return simulated.Script{}, err
	}
	return simulated.Parse(data)
}
