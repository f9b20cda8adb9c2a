package gemini

import (
	"errors"
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
	Model        string             // with or without its prefix models/
	BaseURL      string             // up to and without /models; a URL without a path gets /v1beta; empty: Google's own
	Key          content.Of[string] // sent as x-goog-api-key; zero: none is sent
	Capabilities provider.Capabilities

	ModelProvider provider.ModelProvider // zero: gcp.gemini
	Headers       map[string]string      // sent with every call; a secret belongs into Key
	Query         map[string]string      // added to the URL

	MaxConnections int           // kept open for reuse: the calls expected at a time; zero: 64. More calls open more
	HeaderTimeout  time.Duration // until the headers are there; zero: the call's context alone bounds it
	CAFile         string        // roots in PEM that are trusted besides the system's; empty: none
	Proxy          string        // URL; empty: none, whatever the environment says
}

const defaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// New makes the client. Its errors name the setting that is wrong and never quote a value.
func New(cfg Config) (*Client, error) {
	if cfg.Name.IsZero() {
		return nil, errors.New("gemini: name: must be set")
	}
	model := strings.TrimPrefix(cfg.Model, "models/")
	if model == "" || strings.ContainsAny(model, "?#: \t\n") {
		return nil, errors.New("gemini: model: must be set, and must not hold blanks, colons or marks of a URL")
	}
	if cfg.ModelProvider.IsZero() {
		cfg.ModelProvider, _ = provider.ParseModelProvider("gcp.gemini")
	}
	c, err := wire.NewClient(
		wire.Identity{Name: cfg.Name, Model: model, ModelProvider: cfg.ModelProvider, Capabilities: cfg.Capabilities},
		wire.Config{
			BaseURL: baseURL(cfg.BaseURL), Headers: cfg.Headers, Query: cfg.Query, AuthHeader: "X-Goog-Api-Key", Key: cfg.Key,
			Connections: cfg.MaxConnections, HeaderTimeout: cfg.HeaderTimeout, CAFile: cfg.CAFile, Proxy: cfg.Proxy,
		},
		&dialect{model: model, can: cfg.Capabilities})
	if err != nil {
		return nil, errors.New("gemini: " + err.Error())
	}
	return &Client{c}, nil
}

func baseURL(s string) string {
	if s == "" {
		return defaultBaseURL
	}
	if u, err := url.Parse(s); err == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" {
		return strings.TrimRight(s, "/") + "/v1beta"
	}
	return s
}
