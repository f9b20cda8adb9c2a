package gemini_test

import (
	"testing"

	"fourfold/content"
	"fourfold/internal/faultserver"
	"fourfold/internal/wiretest"
	"fourfold/provider"
	"fourfold/provider/gemini"
)

const secret = wiretest.Secret

var speech = wiretest.Speech{
	Whole: `{"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":"STOP"}],"modelVersion":"m-1"}`,
	Pieces: []string{
		`data: {"candidates":[{"content":{"parts":[{"text":"hello"}]}}]}` + "\n\n",
		`data: {"candidates":[{"content":{},"finishReason":"STOP"}],"modelVersion":"m-1"}` + "\n\n",
	},
	Empty:   `{"candidates":[{"content":{},"finishReason":"STOP"}]}`,
	Refusal: `{"error":{"message":"%s","status":"X"}}`,
}

func TestConformance(t *testing.T) {
	wiretest.Conformance(t, speech, func(url string) (provider.Client, error) {
		return gemini.New(gemini.Config{
			Name: provider.MustName("third"), Model: "asked", BaseURL: url, Key: content.New("sk-" + secret),
			Capabilities: provider.CapabilitiesOf(provider.Streaming),
		})
	})
}

func TestConfigurationErrorsNameTheSettingAlone(t *testing.T) {
	good := gemini.Config{Name: provider.MustName("p"), Model: "m"}
	open := func(cfg gemini.Config) error { _, err := gemini.New(cfg); return err }
	wiretest.ConfigErrors(t, good, open, map[string][]func(*gemini.Config){
		"": {
			func(*gemini.Config) {},
			func(c *gemini.Config) { c.Model = "models/m" },
		},
		"name": {
			func(c *gemini.Config) { c.Name = provider.Name{} },
		},
		"model": {
			func(c *gemini.Config) { c.Model = "" },
			func(c *gemini.Config) { c.Model = "models/" },
			func(c *gemini.Config) { c.Model = "m?key=" + secret },
		},
		"base URL": {
			func(c *gemini.Config) { c.BaseURL = secret },
			func(c *gemini.Config) { c.BaseURL = "http://h?key=" + secret },
		},
		"key": {
			func(c *gemini.Config) { c.Key = content.New(secret + "\n") },
		},
		"headers": {
			func(c *gemini.Config) { c.Headers = map[string]string{"X": secret + "\n"} },
		},
		"CA file": {
			func(c *gemini.Config) { c.CAFile = "/nowhere/" + secret },
		},
		"proxy": {
			func(c *gemini.Config) { c.Proxy = secret },
		},
	})
}

func TestModelIsAskedUnderItsNameWithOrWithoutPrefix(t *testing.T) {
	const want = "/v1beta/models/m-1:generateContent"
	for _, model := range []string{"m-1", "models/m-1"} {
		s, err := faultserver.Start(t.Context(), func(faultserver.Request) faultserver.Answer { return faultserver.JSON(200, speech.Whole) })
		if err != nil {
			t.Fatal(err)
		}
		c, err := gemini.New(gemini.Config{Name: provider.MustName("p"), Model: model, BaseURL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Complete(t.Context(), provider.Request{Prompt: content.New("hello")}); err != nil {
			t.Error(err)
		}
		if got := s.Calls()[0].Path; got != want {
			t.Errorf("%s: asked at %s, want %s", model, got, want)
		}
		s.Close()
	}
}
