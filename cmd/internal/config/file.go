package config

import (
	"time"

	"fourfold/flow"
)

// File is worker.yaml. Zero values mean that a key is absent; Finish puts defaults in their place.
type File struct {
	Redis         Redis               `yaml:"redis"`
	Queues        map[string]int      `yaml:"queues"` // name: weight
	Concurrency   int                 `yaml:"concurrency"`
	Drain         Duration            `yaml:"drain"`
	HealthAddr    *string             `yaml:"health_addr"` // empty: no health endpoints
	Statsd        Statsd              `yaml:"statsd"`
	Log           Log                 `yaml:"log"`
	Traces        *Traces             `yaml:"traces,omitempty"`
	Retention     Duration            `yaml:"retention,omitempty"`
	Lease         Duration            `yaml:"lease,omitempty"`
	MaxDeliveries int                 `yaml:"max_deliveries,omitempty"`
	MaxWait       Duration            `yaml:"max_wait,omitempty"`
	Providers     map[string]Provider `yaml:"providers"`
	Chains        map[string]Chain    `yaml:"chains"`

	name     string              // as given; empty: no file
	lines    map[string]position // key path: where it stands
	flags    map[string]string   // key path: the flag that said it
	problems flow.Problems
	misused  bool // by a flag
}

// Redis says where Redis is: one of URL, Cluster and Sentinel.
type Redis struct {
	URL          string    `yaml:"url,omitempty"` // redis://, rediss:// or unix://
	Cluster      *Cluster  `yaml:"cluster,omitempty"`
	Sentinel     *Sentinel `yaml:"sentinel,omitempty"`
	Username     string    `yaml:"username,omitempty"`
	PasswordEnv  string    `yaml:"password_env,omitempty"`
	PasswordFile string    `yaml:"password_file,omitempty"`
	DB           int       `yaml:"db,omitempty"` // of a sentinel's master; a URL names its own
	TLS          *TLS      `yaml:"tls,omitempty"`
	PoolSize     int       `yaml:"pool_size,omitempty"`
	ReadTimeout  Duration  `yaml:"read_timeout,omitempty"`
}

// Cluster is a Redis Cluster by some of its nodes.
type Cluster struct {
	Addrs []string `yaml:"addrs"`
}

// Sentinel is a master by name, found through its sentinels.
type Sentinel struct {
	Master       string   `yaml:"master"`
	Addrs        []string `yaml:"addrs"`
	Username     string   `yaml:"username,omitempty"`
	PasswordEnv  string   `yaml:"password_env,omitempty"`
	PasswordFile string   `yaml:"password_file,omitempty"`
}

// TLS turns TLS on, for rediss:// also without a block. Empty CAFile means the system's authorities.
type TLS struct {
	CAFile     string `yaml:"ca_file,omitempty"`
	CertFile   string `yaml:"cert_file,omitempty"`
	KeyFile    string `yaml:"key_file,omitempty"`
	ServerName string `yaml:"server_name,omitempty"`
}

// Statsd says where DogStatsD listens. Nil Addr means the default; empty means no metrics.
type Statsd struct {
	Addr *string `yaml:"addr"`
}

// Log is how the process logs, always to standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // json or text
}

// Traces turns traces on, even when its block is empty; a File without one has them off.
type Traces struct {
	// OTLPEndpoint receives OTLP over HTTP. Without a path spans are posted to /v1/traces there, otherwise to the path. Empty:
	// what OpenTelemetry's or Datadog's variables name, else DefaultOTLP.
	OTLPEndpoint string   `yaml:"otlp_endpoint,omitempty"`
	Sample       *float64 `yaml:"sample,omitempty"` // share of runs, 0 to 1, where the producer did not decide; nil: all
}

// Provider is one model at one address.
type Provider struct {
	Kind              string            `yaml:"kind"`              // openai, anthropic, gemini or simulated
	Flavour           string            `yaml:"flavour,omitempty"` // of kind openai: azure, groq, vllm, …
	BaseURL           string            `yaml:"base_url,omitempty"`
	Model             string            `yaml:"model,omitempty"`
	ModelProvider     string            `yaml:"model_provider,omitempty"` // tag on metrics; default by kind
	APIKeyEnv         string            `yaml:"api_key_env,omitempty"`
	APIKeyFile        string            `yaml:"api_key_file,omitempty"`
	Timeout           Duration          `yaml:"timeout,omitempty"`
	FirstTokenTimeout Duration          `yaml:"first_token_timeout,omitempty"`
	IdleTimeout       Duration          `yaml:"idle_timeout,omitempty"`
	Stream            bool              `yaml:"stream,omitempty"`
	Capabilities      []string          `yaml:"capabilities,omitempty"`
	Limits            Limits            `yaml:"limits,omitempty"`
	Breaker           Breaker           `yaml:"breaker,omitempty"`
	Headers           map[string]string `yaml:"headers,omitempty"`
	Query             map[string]string `yaml:"query,omitempty"`
	HeaderTimeout     Duration          `yaml:"header_timeout,omitempty"`
	CAFile            string            `yaml:"ca_file,omitempty"` // trusted besides the system's
	Proxy             string            `yaml:"proxy,omitempty"`   // never taken from the environment
	Script            string            `yaml:"script,omitempty"`  // of kind simulated: a file; empty: every call is answered
}

// Limits hold for one provider across the whole fleet. Zero means none.
type Limits struct {
	InFlight  int `yaml:"in_flight,omitempty"`
	PerMinute int `yaml:"per_minute,omitempty"`
}

// Breaker says when calls to a provider stop. A provider without the block has one all the same.
type Breaker struct {
	Failures int      `yaml:"failures,omitempty"` // in a row; zero: 5
	Cooldown Duration `yaml:"cooldown,omitempty"` // zero: 10s
	Disabled bool     `yaml:"disabled,omitempty"`
}

// Chain is the order in which providers are asked. In the file it is a list of names, or a mapping when
// further error kinds shall lead to the next provider.
type Chain struct {
	Providers  []string `yaml:"providers"`
	FallbackOn []string `yaml:"fallback_on,omitempty"`
}

// Duration is written as Go writes it: 250ms, 8s, 1m30s.
type Duration time.Duration

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// MarshalYAML writes d as it is read.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// MarshalYAML writes a chain in its short form where that says everything.
func (c Chain) MarshalYAML() (any, error) {
	if len(c.FallbackOn) == 0 {
		return c.Providers, nil
	}
	type long Chain
	return long(c), nil
}
