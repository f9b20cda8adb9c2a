package config

import (
	"net"
	"time"
)

// Overrides are the flags (and FOURFOLD_… variables) that stand above the file. Nil and zero mean: not given.
type Overrides struct {
	Redis       string         `name:"redis" placeholder:"URL" env:"FOURFOLD_REDIS,FOURFOLD_REDIS_URL" help:"Redis to work on: redis://, rediss:// or unix://; default redis://127.0.0.1:6379/0."`
	Queues      map[string]int `mapsep:"," placeholder:"NAME=WEIGHT,…" help:"Queues to serve and their weights."`
	Concurrency *int           `placeholder:"N" help:"Steps in flight at once; default 100."`
	Drain       *time.Duration `placeholder:"DURATION" help:"How long a stopping worker waits for calls in flight; default 25s."`
	HealthAddr  *string        `placeholder:"ADDR" help:"Where /healthz and /readyz are served; empty for nowhere."`
	Statsd      *string        `placeholder:"ADDR" help:"Where DogStatsD listens, host:port or unix:///path; empty for no metrics."`
	Traces      *string        `placeholder:"URL" help:"Where OTLP over HTTP is received, such as http://127.0.0.1:4318; empty for no traces, which is the default."`
	LogLevel    string         `placeholder:"LEVEL" help:"debug, info, warn or error."`
	LogFormat   string         `placeholder:"FORMAT" help:"json or text."`
	BaseURL     string         `placeholder:"URL" help:"OpenAI-compatible server, when the file names no providers."`
	Model       string         `placeholder:"NAME" help:"Model to ask there; default ${default_model}."`
}

// Defaults of what neither file nor flag says.
const (
	DefaultRedis       = "redis://127.0.0.1:6379/0"
	DefaultQueue       = "default"
	DefaultConcurrency = 100
	DefaultDrain       = 25 * time.Second
	DefaultHealthAddr  = "127.0.0.1:8080"
	DefaultStatsd      = "127.0.0.1:8125"
	DefaultOTLP        = "http://127.0.0.1:4318"
	DefaultModel       = "gpt-4.1-mini"
	DefaultChain       = "default"
)

// Env looks a variable up, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

func (e Env) get(name string) string {
	v, _ := e(name)
	return v
}

// apply lays the flags over the file and remembers whose word it was.
func (f *File) apply(o Overrides) {
	f.flags = map[string]string{}
	if o.Redis != "" {
		f.Redis = Redis{URL: o.Redis, TLS: f.Redis.TLS, PoolSize: f.Redis.PoolSize, ReadTimeout: f.Redis.ReadTimeout}
		f.flags["redis"] = "--redis"
	}
	if len(o.Queues) > 0 {
		f.Queues = o.Queues
		f.flags["queues"] = "--queues"
	}
	if o.Concurrency != nil {
		f.Concurrency = *o.Concurrency
		f.flags["concurrency"] = "--concurrency"
		if f.Concurrency == 0 { // in the file, it stands for the default
			f.problem("concurrency", "must be at least 1")
		}
	}
	if o.Drain != nil {
		f.Drain = Duration(*o.Drain)
		f.flags["drain"] = "--drain"
		if f.Drain == 0 {
			f.problem("drain", "must be longer than zero")
		}
	}
	if o.HealthAddr != nil {
		f.HealthAddr = o.HealthAddr
		f.flags["health_addr"] = "--health-addr"
	}
	if o.Statsd != nil {
		f.Statsd.Addr = o.Statsd
		f.flags["statsd"] = "--statsd"
	}
	f.applyTraces(o)
	if o.LogLevel != "" {
		f.Log.Level = o.LogLevel
		f.flags["log.level"] = "--log-level"
	}
	if o.LogFormat != "" {
		f.Log.Format = o.LogFormat
		f.flags["log.format"] = "--log-format"
	}
}

// fill puts defaults in place of what is absent. Without providers the environment may name one: OPENAI_API_KEY,
// or a server by --base-url or OPENAI_BASE_URL.
func (f *File) fill(o Overrides, env Env) {
	if f.Redis.URL == "" && f.Redis.Cluster == nil && f.Redis.Sentinel == nil {
		f.Redis.URL = DefaultRedis
	}
	if f.Queues == nil {
		f.Queues = map[string]int{DefaultQueue: 1}
	}
	if f.Concurrency == 0 {
		f.Concurrency = DefaultConcurrency
	}
	if f.Drain == 0 {
		f.Drain = Duration(DefaultDrain)
	}
	if f.HealthAddr == nil {
		f.HealthAddr = new(DefaultHealthAddr)
	}
	if f.Statsd.Addr == nil {
		f.Statsd.Addr = new(statsdFromAgent(env))
	}
	f.fillTraces(env)
	if f.Log.Level == "" {
		f.Log.Level = "info"
	}
	if f.Log.Format == "" {
		f.Log.Format = "json"
	}
	f.fillProviders(o, env)
}

// statsdFromAgent is what Datadog's own libraries understand, so that a pod with the usual variables needs no more.
func statsdFromAgent(env Env) string {
	if u := env.get("DD_DOGSTATSD_URL"); u != "" {
		return u
	}
	if host := env.get("DD_AGENT_HOST"); host != "" {
		port := env.get("DD_DOGSTATSD_PORT")
		if port == "" {
			port = "8125"
		}
		return net.JoinHostPort(host, port)
	}
	return DefaultStatsd
}

func (f *File) fillProviders(o Overrides, env Env) {
	if len(f.Providers) == 0 {
		base := o.BaseURL
		if base == "" {
			base = env.get("OPENAI_BASE_URL")
		}
		key := env.get("OPENAI_API_KEY")
		if base != "" || key != "" {
			model := o.Model
			if model == "" {
				model = DefaultModel
			}
			p := Provider{
				Kind: "openai", BaseURL: base, Model: model, Timeout: Duration(time.Minute),
				Capabilities: []string{"json_schema", "json_mode", "streaming"},
			}
			if key != "" {
				p.APIKeyEnv = "OPENAI_API_KEY"
			}
			f.Providers = map[string]Provider{"primary": p}
			if o.BaseURL != "" {
				f.flags["providers.primary.base_url"] = "--base-url"
			}
		}
	}
	if len(f.Chains) == 0 && len(f.Providers) == 1 {
		for name := range f.Providers {
			f.Chains = map[string]Chain{DefaultChain: {Providers: []string{name}}}
		}
	}
	for name, p := range f.Providers {
		if p.APIKeyEnv == "" && p.APIKeyFile == "" && p.BaseURL == "" && p.Flavour == "" {
			p.APIKeyEnv = usualKey[p.Kind] // never for another host than the maker's own
			f.Providers[name] = p
		}
	}
}

var usualKey = map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
