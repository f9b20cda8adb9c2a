package openai_test

import (
	"os"
	"path/filepath"
	"testing"

	"fourfold/content"
	"fourfold/internal/wiretest"
	"fourfold/provider"
	"fourfold/provider/openai"
)

const secret = wiretest.Secret

func TestConformance(t *testing.T) {
	wiretest.Conformance(t, wiretest.Speech{
		Whole: `{"object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},` +
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
		Pieces: []string{
			`data: {"object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"content":"hello"}}]}` + "\n\n",
			`data: {"object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		},
		Empty:   `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`,
		Refusal: `{"error":{"message":"%s","type":"x","code":null}}`,
	}, func(url string) (provider.Client, error) {
		return openai.New(openai.Config{
			Name: provider.MustName("primary"), Model: "asked", BaseURL: url + "/v1", Key: content.New("sk-" + secret),
			Capabilities: provider.CapabilitiesOf(provider.Streaming),
		})
	})
}

func TestConfigurationErrorsNameTheSettingAlone(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), secret+".pem")
	if err := os.WriteFile(noPEM, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	good := openai.Config{Name: provider.MustName("p"), Model: "m", BaseURL: "http://h/v1"}
	open := func(cfg openai.Config) error { _, err := openai.New(cfg); return err }
	wiretest.ConfigErrors(t, good, open, map[string][]func(*openai.Config){
		"": {
			func(*openai.Config) {},
			func(c *openai.Config) { c.BaseURL = "" },
		},
		"name": {
			func(c *openai.Config) { c.Name = provider.Name{} },
		},
		"model": {
			func(c *openai.Config) { c.Model = "" },
		},
		"base URL": {
			func(c *openai.Config) { c.BaseURL = secret },
			func(c *openai.Config) { c.BaseURL = "ftp://h/" + secret },
			func(c *openai.Config) { c.BaseURL = "http://u:" + secret + "@h/v1" },
			func(c *openai.Config) { c.BaseURL = "http://h/v1?key=" + secret },
			func(c *openai.Config) { c.BaseURL = "http://h/%zz" + secret },
			func(c *openai.Config) { c.BaseURL, c.Flavour = "", openai.Azure },
		},
		"key": {
			func(c *openai.Config) { c.Key = content.New(secret + "\n") },
		},
		"headers": {
			func(c *openai.Config) { c.Headers = map[string]string{secret + " ": "x"} },
			func(c *openai.Config) { c.Headers = map[string]string{"X": secret + "\r\nY: z"} },
		},
		"CA file": {
			func(c *openai.Config) { c.CAFile = "/nowhere/" + secret },
			func(c *openai.Config) { c.CAFile = noPEM },
		},
		"proxy": {
			func(c *openai.Config) { c.Proxy = secret },
		},
		"flavour": {
			func(c *openai.Config) { c.Flavour = 99 },
		},
	})
}

func TestFlavoursReadWhatTheyPrint(t *testing.T) {
	for f := openai.OpenAI; f <= openai.Gemini; f++ {
		if got, err := openai.ParseFlavour(f.String()); got != f || err != nil {
			t.Errorf("ParseFlavour(%q) = %v, %v", f, got, err)
		}
	}
	if got, err := openai.ParseFlavour(""); got != openai.OpenAI || err != nil {
		t.Errorf(`ParseFlavour("") = %v, %v`, got, err)
	}
	if _, err := openai.ParseFlavour("x"); err == nil {
		t.Error("an unknown flavour is taken")
	}
}
