package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"fourfold/cmd/internal/cli"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/provider/openai"
	"fourfold/tasks"
)

// Kinds are the kinds of providers that a file may name.
var Kinds = []string{"openai", "anthropic", "gemini", KindSimulated}

// KindSimulated is the kind of providers that ask no model and cost nothing.
const KindSimulated = "simulated"

// Finish lays flags over the file, fills in defaults and checks how everything fits together. The error is a
// flow.Problems with every problem, each where the file says it; or, when flags say any of them, a cli.UsageError with
// the same text.
func (f *File) Finish(o Overrides, env Env) error {
	f.apply(o)
	f.fill(o, env)
	f.checkRedis()
	f.checkWorker()
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		f.checkProvider(name, f.Providers[name])
	}
	f.checkChains()
	return f.fault()
}

func (f *File) fault() error {
	switch {
	case len(f.problems) == 0:
		return nil
	case f.misused:
		return cli.Usagef("%v", sorted(f.problems))
	}
	return sorted(f.problems)
}

// FinishRedis is Finish for a program that needs nothing but Redis.
func (f *File) FinishRedis(redisURL string) error {
	f.apply(Overrides{Redis: redisURL})
	f.fill(Overrides{}, func(string) (string, bool) { return "", false })
	f.checkRedis()
	return f.fault()
}

// problem notes what is wrong with key: at the flag that said it, or where the file says it or the nearest key above it.
func (f *File) problem(key, format string, args ...any) {
	p := flow.Problem{File: f.name, Message: key + ": " + fmt.Sprintf(format, args...)}
	for at := key; ; {
		if flag, ok := f.flags[at]; ok {
			p.File, p.Line, p.Column, f.misused = flag, 0, 0, true
			break
		}
		if pos, ok := f.lines[at]; ok {
			p.Line, p.Column = pos.line, pos.column
			break
		}
		cut := strings.LastIndexAny(at, ".[")
		if cut < 0 {
			break
		}
		at = at[:cut]
	}
	if p.File == "" {
		p.File = "configuration"
	}
	f.problems = append(f.problems, p)
}

func (f *File) checkRedis() {
	r := f.Redis
	ways := 0
	for _, given := range []bool{r.URL != "", r.Cluster != nil, r.Sentinel != nil} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		f.problem("redis", "one of url, cluster and sentinel, not several")
	}
	if r.URL != "" {
		if _, err := parseRedisURL(r.URL); err != nil {
			f.problem("redis.url", "%v", err)
		}
	}
	if r.Cluster != nil && len(r.Cluster.Addrs) == 0 {
		f.problem("redis.cluster.addrs", "must name at least one node")
	}
	if r.Sentinel != nil && len(r.Sentinel.Addrs) == 0 {
		f.problem("redis.sentinel.addrs", "must name at least one sentinel")
	}
	if r.Sentinel != nil && r.Sentinel.Master == "" {
		f.problem("redis.sentinel.master", "must name the master")
	}
	if r.PasswordEnv != "" && r.PasswordFile != "" {
		f.problem("redis", "one of password_env and password_file, not both")
	}
	if t := r.TLS; t != nil && (t.CertFile == "") != (t.KeyFile == "") {
		f.problem("redis.tls", "cert_file and key_file go together")
	}
	if r.PoolSize < 0 {
		f.problem("redis.pool_size", "must not be negative")
	}
}

func (f *File) checkWorker() {
	for _, name := range slices.Sorted(maps.Keys(f.Queues)) {
		if tasks.CheckQueueName(name) != nil {
			f.problem(join("queues", name), "a queue is named with a-z, 0-9, - and _, at most 63 characters")
		}
		if f.Queues[name] < 1 {
			f.problem(join("queues", name), "a weight is a whole number from 1")
		}
	}
	if len(f.Queues) == 0 {
		f.problem("queues", "must name at least one queue")
	}
	if f.Concurrency < 1 {
		f.problem("concurrency", "must be at least 1")
	}
	if f.Drain < 0 {
		f.problem("drain", "must not be negative")
	}
	if f.MaxDeliveries < 0 {
		f.problem("max_deliveries", "must not be negative")
	}
	if a := *f.HealthAddr; a != "" {
		if _, _, err := net.SplitHostPort(a); err != nil {
			f.problem("health_addr", "must be host:port, or empty for none")
		}
	}
	if a := *f.Statsd.Addr; a != "" && !validStatsd(a) {
		f.problem("statsd.addr", "must be host:port or unix:///path, or empty for no metrics")
	}
	f.checkTraces()
	f.oneOf("log.level", f.Log.Level, []string{"debug", "info", "warn", "error"})
	f.oneOf("log.format", f.Log.Format, []string{"json", "text"})
}

func (f *File) oneOf(key, value string, words []string) {
	if !slices.Contains(words, value) {
		f.problem(key, "must be one of %s%s", strings.Join(words, ", "), flow.Suggest(value, words))
	}
}

func validStatsd(addr string) bool {
	for _, scheme := range []string{"unix://", "unixgram://", "unixstream://", "udp://"} {
		if rest, ok := strings.CutPrefix(addr, scheme); ok {
			return rest != ""
		}
	}
	_, _, err := net.SplitHostPort(addr)
	return err == nil
}

func (f *File) checkProvider(name string, p Provider) {
	key := join("providers", name)
	if _, err := provider.ParseName(name); err != nil {
		f.problem(key, "a provider is named with a-z, 0-9 and -, at most 63 characters")
	}
	if p.Kind == "" {
		f.problem(key, "kind is missing: one of %s", strings.Join(Kinds, ", "))
	} else {
		f.oneOf(join(key, "kind"), p.Kind, Kinds)
	}
	if p.Model == "" && p.Kind != KindSimulated {
		f.problem(key, "model is missing")
	}
	if p.Kind == KindSimulated && p.Model != "" && !strings.HasPrefix(p.Model, "simulated") {
		f.problem(join(key, "model"), "a simulation's model has a name that begins with simulated")
	}
	if p.Script != "" && p.Kind != KindSimulated {
		f.problem(join(key, "script"), "is for kind simulated")
	}
	if p.BaseURL != "" && !validBaseURL(p.BaseURL) {
		f.problem(join(key, "base_url"), "must be an http or https address without user, query and fragment (see headers and query)")
	}
	if p.APIKeyEnv != "" && p.APIKeyFile != "" {
		f.problem(key, "one of api_key_env and api_key_file, not both")
	}
	if p.ModelProvider != "" {
		if _, err := provider.ParseModelProvider(p.ModelProvider); err != nil {
			f.problem(join(key, "model_provider"), "must be a name such as openai or aws.bedrock")
		}
	}
	for i, c := range p.Capabilities {
		if _, err := provider.ParseCapability(c); err != nil {
			f.problem(fmt.Sprintf("%s.capabilities[%d]", key, i), "unknown capability%s", flow.Suggest(c, words(provider.AllCapabilities())))
		}
	}
	f.notNegative(join(key, "limits.in_flight"), p.Limits.InFlight)
	f.notNegative(join(key, "limits.per_minute"), p.Limits.PerMinute)
	f.notNegative(join(key, "breaker.failures"), p.Breaker.Failures)
	if _, err := openai.ParseFlavour(p.Flavour); err != nil || (p.Flavour != "" && p.Kind != "openai") {
		f.problem(join(key, "flavour"), "is for kind openai: azure, openrouter, groq, vllm, ollama, llamacpp or gemini")
	}
}

func (f *File) notNegative(key string, n int) {
	if n < 0 {
		f.problem(key, "must not be negative")
	}
}

func validBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

func (f *File) checkChains() {
	if len(f.Chains) == 0 && len(f.Providers) > 1 {
		f.problem("chains", "several providers, and no chain says in which order they are asked")
	}
	names := slices.Sorted(maps.Keys(f.Providers))
	for _, name := range slices.Sorted(maps.Keys(f.Chains)) {
		key, c := join("chains", name), f.Chains[name]
		if _, err := provider.ParseName(name); err != nil {
			f.problem(key, "a chain is named with a-z, 0-9 and -, at most 63 characters")
		}
		if len(c.Providers) == 0 {
			f.problem(key, "must name at least one provider")
		}
		for i, p := range c.Providers {
			at := fmt.Sprintf("%s[%d]", key, i)
			if _, long := f.lines[join(key, "providers")]; long {
				at = fmt.Sprintf("%s.providers[%d]", key, i)
			}
			if _, ok := f.Providers[p]; !ok {
				f.problem(at, "no provider of this name%s", flow.Suggest(p, names))
			}
			if slices.Contains(c.Providers[:i], p) {
				f.problem(at, "named twice: a chain asks each provider at most once")
			}
		}
		for i, k := range c.FallbackOn {
			if _, err := provider.ParseKind(k); err != nil {
				f.problem(fmt.Sprintf("%s.fallback_on[%d]", key, i), "unknown error kind%s", flow.Suggest(k, words(provider.Kinds())))
			}
		}
	}
}

// words are the names of an enumeration's members.
func words[T fmt.Stringer](members []T) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.String()
	}
	return names
}
