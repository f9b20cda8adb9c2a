package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/internal/faultserver"
	"fourfold/provider"
	"fourfold/provider/anthropic"
	"fourfold/provider/gemini"
	"fourfold/provider/openai"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	closedSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"label":{"type":"string"},` +
		`"confidence":{"type":"number"}},"required":["label","confidence"],"additionalProperties":false}`
	openSchema = `{"type":"object","properties":{"label":{"type":"string","minLength":1}}}`
	listSchema = `{"type":"array","items":{"type":"string"}}`
)

func ptr[T any](v T) *T { return &v }

func everything(schema string) provider.Request {
	return provider.Request{
		System: content.New("Be <brief> & exact."),
		Prompt: content.New("Classify the table."),
		Output: &provider.OutputSchema{Name: "verdict", JSON: json.RawMessage(schema)},
		Params: provider.Params{
			Temperature: ptr(0.0), TopP: ptr(0.5), MaxTokens: ptr(800), Seed: ptr(int64(7)), Stop: []string{"END"},
		},
	}
}

type maker func(t *testing.T, url string, can provider.Capabilities) provider.Client

// What each client sends is a contract with its API: request line, headers that matter, and body.
func TestRequestsOnTheWire(t *testing.T) {
	name, key := provider.MustName("p"), content.New("sk-1")
	must := func(t *testing.T, c provider.Client, err error) provider.Client {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	openAI := func(more openai.Config) maker {
		return func(t *testing.T, url string, can provider.Capabilities) provider.Client {
			cfg := more
			cfg.Name, cfg.Model, cfg.Key, cfg.BaseURL, cfg.Capabilities = name, "m-1", key, url+more.BaseURL, can
			c, err := openai.New(cfg)
			return must(t, c, err)
		}
	}
	claude := func(more anthropic.Config) maker {
		return func(t *testing.T, url string, can provider.Capabilities) provider.Client {
			cfg := more
			cfg.Name, cfg.Model, cfg.Key, cfg.BaseURL, cfg.Capabilities = name, "m-1", key, url+more.BaseURL, can
			c, err := anthropic.New(cfg)
			return must(t, c, err)
		}
	}
	google := func(more gemini.Config) maker {
		return func(t *testing.T, url string, can provider.Capabilities) provider.Client {
			cfg := more
			cfg.Name, cfg.Key, cfg.BaseURL, cfg.Capabilities = name, key, url+more.BaseURL, can
			c, err := gemini.New(cfg)
			return must(t, c, err)
		}
	}
	schema, mode := provider.CapabilitiesOf(provider.JSONSchema), provider.CapabilitiesOf(provider.JSONMode)
	plain := provider.Request{Prompt: content.New("Say hello.")}
	for _, c := range []struct {
		name   string
		make   maker
		can    provider.Capabilities
		req    provider.Request
		stream bool
	}{
		{"openai-plain", openAI(openai.Config{BaseURL: "/v1"}), schema, plain, false},
		{"openai-strict", openAI(openai.Config{BaseURL: "/v1"}), schema, everything(closedSchema), false},
		{"openai-not-strict", openAI(openai.Config{BaseURL: "/v1/"}), schema.Union(mode), everything(openSchema), true},
		{"openai-list", openAI(openai.Config{BaseURL: "/v1"}), schema, everything(listSchema), false},
		{"openai-json-mode", openAI(openai.Config{BaseURL: "/v1"}), mode, everything(closedSchema), false},
		{"openai-no-capability", openAI(openai.Config{BaseURL: "/v1"}), 0, everything(closedSchema), false},
		{"openai-no-stream-usage", openAI(openai.Config{BaseURL: "/v1", NoStreamUsage: true}), 0, plain, true},
		{"openai-organisation", openAI(openai.Config{
			BaseURL: "/v1", MaxTokens: openai.MaxCompletionTokens, Headers: map[string]string{"OpenAI-Organization": "org-1"},
		}), 0, everything(openSchema), false},
		{"azure", openAI(openai.Config{
			Flavour: openai.Azure, BaseURL: "/openai/deployments/d", Query: map[string]string{"api-version": "2024-10-21"},
		}), schema, everything(closedSchema), true},
		{"azure-list", openAI(openai.Config{Flavour: openai.Azure, BaseURL: "/openai/v1"}), schema, everything(listSchema), false},
		{"anthropic-plain", claude(anthropic.Config{}), schema, plain, false},
		{"anthropic-schema", claude(anthropic.Config{BaseURL: "/v1"}), schema, everything(closedSchema), true},
		{"anthropic-open-schema", claude(anthropic.Config{
			BaseURL: "/gateway/v1", MaxTokens: 99, Headers: map[string]string{"anthropic-version": "2030-01-01", "anthropic-beta": "b"},
		}), schema, everything(openSchema), false},
		{"gemini-plain", google(gemini.Config{Model: "models/m-1"}), schema, plain, false},
		{"gemini-schema", google(gemini.Config{Model: "m-1", BaseURL: "/v1beta"}), schema, everything(closedSchema), true},
		{"gemini-json-mode", google(gemini.Config{Model: "m-1", Query: map[string]string{"x": "a b"}}), mode, everything(closedSchema), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(faultserver.Request) faultserver.Answer { return faultserver.JSON(500, "{}") })
			client := c.make(t, s.URL(), c.can)
			if c.stream {
				drain(client.Stream(t.Context(), c.req))
			} else {
				_, _ = client.Complete(t.Context(), c.req)
			}
			golden(t, c.name+".txt", dump(t, s.Calls()[0].Request))
		})
	}
}

func dump(t *testing.T, r faultserver.Request) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.Path)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "Content-Length" {
			fmt.Fprintf(&b, "%s: %s\n", name, r.Header.Get(name))
		}
	}
	var body bytes.Buffer
	if err := json.Indent(&body, r.Body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n" + body.String() + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "requests", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
