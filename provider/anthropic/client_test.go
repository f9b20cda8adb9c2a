package anthropic_test

import (
	"testing"

	"fourfold/content"
	"fourfold/internal/faultserver"
	"fourfold/internal/wiretest"
	"fourfold/provider"
	"fourfold/provider/anthropic"
)

const secret = wiretest.Secret

var speech = wiretest.Speech{
	Whole: `{"type":"message","model":"m-1","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":3,"output_tokens":2}}`,
	Pieces: []string{
		`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"hello"}}` + "\n\n",
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\ndata: {\"type\":\"message_stop\"}\n\n",
	},
	Empty:   `{"type":"message","content":[],"stop_reason":"end_turn"}`,
	Refusal: `{"type":"error","error":{"type":"x","message":"%s"}}`,
}

func TestConformance(t *testing.T) {
	wiretest.Conformance(t, speech, func(url string) (provider.Client, error) {
		return anthropic.New(anthropic.Config{
			Name: provider.MustName("backup"), Model: "asked", BaseURL: url, Key: content.New("sk-" + secret),
			Capabilities: provider.CapabilitiesOf(provider.Streaming),
		})
	})
}

func TestConfigurationErrorsNameTheSettingAlone(t *testing.T) {
	good := anthropic.Config{Name: provider.MustName("p"), Model: "m"}
	open := func(cfg anthropic.Config) error { _, err := anthropic.New(cfg); return err }
	wiretest.ConfigErrors(t, good, open, map[string][]func(*anthropic.Config){
		"": {
			func(*anthropic.Config) {},
			func(c *anthropic.Config) { c.BaseURL = "http://h" },
			func(c *anthropic.Config) { c.MaxTokens = 1 },
		},
		"name": {
			func(c *anthropic.Config) { c.Name = provider.Name{} },
		},
		"model": {
			func(c *anthropic.Config) { c.Model = "" },
		},
		"max tokens": {
			func(c *anthropic.Config) { c.MaxTokens = -1 },
		},
		"base URL": {
			func(c *anthropic.Config) { c.BaseURL = secret },
			func(c *anthropic.Config) { c.BaseURL = "http://h?key=" + secret },
		},
		"key": {
			func(c *anthropic.Config) { c.Key = content.New(secret + "\n") },
		},
		"headers": {
			func(c *anthropic.Config) { c.Headers = map[string]string{"X": secret + "\n"} },
		},
		"CA file": {
			func(c *anthropic.Config) { c.CAFile = "/nowhere/" + secret },
		},
		"proxy": {
			func(c *anthropic.Config) { c.Proxy = secret },
		},
	})
}

// A URL without a path is how the API's own libraries name a server; one with a path is taken as it stands.
func TestAddressWithoutAPathGetsTheVersion(t *testing.T) {
	for path, want := range map[string]string{"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/proxy/x": "/proxy/x/messages"} {
		s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer { return faultserver.JSON(200, speech.Whole) })
		if err != nil {
			t.Fatal(err)
		}
		c, err := anthropic.New(anthropic.Config{Name: provider.MustName("p"), Model: "m", BaseURL: s.URL() + path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Complete(t.Context(), provider.Request{Prompt: content.New("hello")}); err != nil {
			t.Error(err)
		}
		if got := s.Calls()[0].Path; got != want {
			t.Errorf("base URL with path %q: asked at %s, want %s", path, got, want)
		}
		s.Close()
	}
}
