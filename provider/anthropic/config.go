package anthropic

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/internal/wire"
)

// Config says which model is asked where. Name and Model are required.
type Config struct {
	Name         provider.Name
	Model        string
	BaseURL      string             // up to and without /messages; a URL without a path gets /v1; empty: Anthropic's own
	Key          content.Of[string] // sent as x-api-key; zero: none is sent
	Capabilities provider.Capabilities

	ModelProvider provider.ModelProvider // zero: anthropic
	Headers       map[string]string      // sent with every call, such as anthropic-beta; a secret belongs into Key
	Query         map[string]string      // added to the URL
	MaxTokens     int                    // sent when Params say nothing, since the API requires a limit; zero: DefaultMaxTokens

	MaxConnections int           // kept open for reuse: the calls expected at a time; zero: 64. More calls open more
	HeaderTimeout  time.Duration // until the headers are there; zero: the call's context alone bounds it
	CAFile         string        // roots in PEM that are trusted besides the system's; empty: none
	Proxy          string        // URL; empty: none, whatever the environment says
}

// DefaultMaxTokens is a limit that every model of the API takes.
const DefaultMaxTokens = 4096

const (
	defaultBaseURL = "https://api.anthropic.com/v1"
	version        = "2023-06-01"
)

// New makes the client. Its errors name the setting that is wrong and never quote a value.
func New(cfg Config) (*Client, error) {
	if cfg.Name.IsZero() {
		return nil, errors.New("anthropic: name: must be set")
	}
	if cfg.Model == "" {
		return nil, errors.New("anthropic: model: must be set")
	}
	if cfg.MaxTokens < 0 {
		return nil, errors.New("anthropic: max tokens: must not be negative")
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = DefaultMaxTokens
	}
	if cfg.ModelProvider.IsZero() {
		cfg.ModelProvider, _ = provider.ParseModelProvider("anthropic")
	}
	headers := map[string]string{"Anthropic-Version": version}
	for name, value := range cfg.Headers {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	c, err := wire.NewClient(
		wire.Identity{Name: cfg.Name, Model: cfg.Model, ModelProvider: cfg.ModelProvider, Capabilities: cfg.Capabilities},
		wire.Config{
			BaseURL: baseURL(cfg.BaseURL), Headers: headers, Query: cfg.Query, AuthHeader: "X-Api-Key", Key: cfg.Key,
			Connections: cfg.MaxConnections, HeaderTimeout: cfg.HeaderTimeout, CAFile: cfg.CAFile, Proxy: cfg.Proxy,
		},
		&dialect{model: cfg.Model, can: cfg.Capabilities, maxTokens: cfg.MaxTokens})
	if err != nil {
		return nil, errors.New("anthropic: " + err.Error())
	}
	return &Client{c}, nil
}

// baseURL adds the version to a URL without a path, because the API's own libraries are configured so.
func baseURL(s string) string {
	if s == "" {
		return defaultBaseURL
	}
	if u, err := url.Parse(s); err == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" {
		return strings.TrimRight(s, "/") + "/v1"
	}
	return s
}
