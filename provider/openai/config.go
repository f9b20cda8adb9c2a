package openai

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
	Model        string             // sent as model; with Azure's deployment URLs it is not read there
	BaseURL      string             // up to and without /chat/completions; empty: the flavour's own, if it has one
	Key          content.Of[string] // zero: none is sent
	Capabilities provider.Capabilities
	Flavour      Flavour

	ModelProvider provider.ModelProvider // zero: the flavour's
	Headers       map[string]string      // sent with every call, such as an organisation; a secret belongs into Key
	Query         map[string]string      // added to the URL, such as Azure's api-version
	MaxTokens     MaxTokensField         // how Params.MaxTokens is sent
	// NoStreamUsage leaves stream_options out, for a server that refuses it. Usage is then unknown unless it comes unasked.
	NoStreamUsage bool

	MaxConnections int           // kept open for reuse: the calls expected at a time; zero: 64. More calls open more
	HeaderTimeout  time.Duration // until the headers are there; zero: the call's context alone bounds it
	CAFile         string        // roots in PEM that are trusted besides the system's; empty: none
	Proxy          string        // URL; empty: none, whatever the environment says
}

// MaxTokensField is the name under which the limit of output tokens is sent.
type MaxTokensField uint8

// MaxTokensAuto sends max_completion_tokens to OpenAI and Azure, whose reasoning models refuse the old name, and
// max_tokens to everybody else, because every other server knows it and some know nothing else.
const (
	MaxTokensAuto MaxTokensField = iota
	MaxTokens
	MaxCompletionTokens
)

// Flavour is a server that speaks the protocol with defaults of its own. The zero value is OpenAI, and is right for any
// server that a BaseURL names and that is not listed.
type Flavour uint8

// The flavours.
const (
	OpenAI Flavour = iota
	Azure
	OpenRouter
	Groq
	VLLM
	Ollama
	LlamaCPP
	Gemini
)

// flavour is what must be known of a server before it is asked.
type flavour struct {
	name       string
	baseURL    string // empty: the configuration must say
	authHeader string
	authPrefix string
	provider   string // OpenTelemetry's gen_ai.provider.name
	objectOnly bool   // refuses schemas whose root is no object
	newTokens  bool   // wants max_completion_tokens
}

var flavours = [...]flavour{
	OpenAI:     {"openai", "https://api.openai.com/v1", "Authorization", "Bearer ", "openai", false, false},
	Azure:      {"azure", "", "Api-Key", "", "azure.ai.openai", true, true},
	OpenRouter: {"openrouter", "https://openrouter.ai/api/v1", "Authorization", "Bearer ", "openrouter", false, false},
	Groq:       {"groq", "https://api.groq.com/openai/v1", "Authorization", "Bearer ", "groq", false, false},
	VLLM:       {"vllm", "http://127.0.0.1:8000/v1", "Authorization", "Bearer ", "vllm", false, false},
	Ollama:     {"ollama", "http://127.0.0.1:11434/v1", "Authorization", "Bearer ", "ollama", false, false},
	LlamaCPP:   {"llamacpp", "http://127.0.0.1:8080/v1", "Authorization", "Bearer ", "llama.cpp", false, false},
	Gemini:     {"gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "Authorization", "Bearer ", "gcp.gemini", false, false},
}

// ParseFlavour reads what String prints. The empty text is OpenAI.
func ParseFlavour(s string) (Flavour, error) {
	if s == "" {
		return OpenAI, nil
	}
	for i, f := range flavours {
		if f.name == s {
			return Flavour(i), nil
		}
	}
	return 0, errors.New("openai: unknown flavour")
}

// String returns the flavour as configurations name it, such as azure.
func (f Flavour) String() string {
	if int(f) < len(flavours) {
		return flavours[f].name
	}
	return "invalid"
}

// ModelProvider is OpenTelemetry's gen_ai.provider.name of the server; zero for an unknown flavour.
func (f Flavour) ModelProvider() provider.ModelProvider {
	if int(f) >= len(flavours) {
		return provider.ModelProvider{}
	}
	name, _ := provider.ParseModelProvider(flavours[f].provider)
	return name
}

// New makes the client. Its errors name the setting that is wrong and never quote a value.
func New(cfg Config) (*Client, error) {
	if cfg.Name.IsZero() {
		return nil, errors.New("openai: name: must be set")
	}
	if cfg.Model == "" {
		return nil, errors.New("openai: model: must be set")
	}
	if int(cfg.Flavour) >= len(flavours) {
		return nil, errors.New("openai: unknown flavour")
	}
	f := flavours[cfg.Flavour]
	if cfg.BaseURL == "" {
		if cfg.BaseURL = f.baseURL; cfg.BaseURL == "" {
			return nil, errors.New("openai: base URL: must be set for this flavour")
		}
	}
	if ownServer(cfg.BaseURL) {
		f.objectOnly, f.newTokens = true, true
	}
	if cfg.ModelProvider.IsZero() {
		cfg.ModelProvider = cfg.Flavour.ModelProvider()
	}
	d := &dialect{
		model: cfg.Model, can: cfg.Capabilities, objectOnly: f.objectOnly, streamUsage: !cfg.NoStreamUsage,
		newTokens: cfg.MaxTokens == MaxCompletionTokens || (cfg.MaxTokens == MaxTokensAuto && f.newTokens),
	}
	c, err := wire.NewClient(
		wire.Identity{Name: cfg.Name, Model: cfg.Model, ModelProvider: cfg.ModelProvider, Capabilities: cfg.Capabilities},
		wire.Config{
			BaseURL: cfg.BaseURL, Headers: cfg.Headers, Query: cfg.Query,
			AuthHeader: f.authHeader, AuthPrefix: f.authPrefix, Key: cfg.Key,
			Connections: cfg.MaxConnections, HeaderTimeout: cfg.HeaderTimeout, CAFile: cfg.CAFile, Proxy: cfg.Proxy,
		}, d)
	if err != nil {
		return nil, errors.New("openai: " + err.Error())
	}
	return &Client{c}, nil
}

// ownServer says whether a URL is one of OpenAI's or Azure's own, which enforce what the others only accept.
func ownServer(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".openai.azure.com")
}
