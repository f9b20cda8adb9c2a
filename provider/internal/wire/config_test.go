package wire_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/anthropic"
	"fourfold/provider/gemini"
	"fourfold/provider/openai"
)

// Errors of the configuration name the setting, and never what stands in it: it may be a key in the wrong place.
func TestConfigurationErrorsNameTheSettingAlone(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), secret+".pem")
	if err := os.WriteFile(noPEM, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	good := openai.Config{Name: provider.MustName("p"), Model: "m", BaseURL: "http://h/v1"}
	with := func(change func(*openai.Config)) error {
		cfg := good
		change(&cfg)
		_, err := openai.New(cfg)
		return err
	}
	claude := func(cfg anthropic.Config) error { _, err := anthropic.New(cfg); return err }
	google := func(cfg gemini.Config) error { _, err := gemini.New(cfg); return err }
	name := provider.MustName("p")
	for _, c := range []struct {
		setting string
		err     error
	}{
		{"", with(func(*openai.Config) {})},
		{"", with(func(c *openai.Config) { c.BaseURL = "" })},
		{"", claude(anthropic.Config{Name: name, Model: "m"})},
		{"", google(gemini.Config{Name: name, Model: "m"})},
		{"name", with(func(c *openai.Config) { c.Name = provider.Name{} })},
		{"model", with(func(c *openai.Config) { c.Model = "" })},
		{"base URL", with(func(c *openai.Config) { c.BaseURL = secret })},
		{"base URL", with(func(c *openai.Config) { c.BaseURL = "ftp://h/" + secret })},
		{"base URL", with(func(c *openai.Config) { c.BaseURL = "http://u:" + secret + "@h/v1" })},
		{"base URL", with(func(c *openai.Config) { c.BaseURL = "http://h/v1?key=" + secret })},
		{"base URL", with(func(c *openai.Config) { c.BaseURL = "http://h/%zz" + secret })},
		{"base URL", with(func(c *openai.Config) { c.BaseURL, c.Flavour = "", openai.Azure })},
		{"key", with(func(c *openai.Config) { c.Key = content.New(secret + "\n") })},
		{"headers", with(func(c *openai.Config) { c.Headers = map[string]string{secret + " ": "x"} })},
		{"headers", with(func(c *openai.Config) { c.Headers = map[string]string{"X": secret + "\r\nY: z"} })},
		{"CA file", with(func(c *openai.Config) { c.CAFile = "/nowhere/" + secret })},
		{"CA file", with(func(c *openai.Config) { c.CAFile = noPEM })},
		{"proxy", with(func(c *openai.Config) { c.Proxy = secret })},
		{"flavour", with(func(c *openai.Config) { c.Flavour = 99 })},
		{"name", claude(anthropic.Config{Model: "m"})},
		{"model", claude(anthropic.Config{Name: name})},
		{"max tokens", claude(anthropic.Config{Name: name, Model: "m", MaxTokens: -1})},
		{"base URL", claude(anthropic.Config{Name: name, Model: "m", BaseURL: secret})},
		{"name", google(gemini.Config{Model: "m"})},
		{"model", google(gemini.Config{Name: name, Model: "m?key=" + secret})},
		{"base URL", google(gemini.Config{Name: name, Model: "m", BaseURL: secret})},
	} {
		switch {
		case c.setting == "" && c.err != nil:
			t.Errorf("a good configuration is refused: %v", c.err)
		case c.setting != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.setting)):
			t.Errorf("error = %v, want one that names %q", c.err, c.setting)
		case c.err != nil && strings.Contains(c.err.Error(), secret):
			t.Errorf("the error quotes the value: %v", c.err)
		}
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	key := content.New("sk-" + secret)
	cfg := openai.Config{Name: provider.MustName("p"), Model: "m", Key: key}
	o, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, err := anthropic.New(anthropic.Config{Name: provider.MustName("p"), Model: "m", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{cfg, &cfg, o, *o, a, *a} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, secret) {
				t.Errorf("%s of %T shows the key", verb, v)
			}
		}
		if text, err := json.Marshal(v); err == nil && strings.Contains(string(text), secret) {
			t.Errorf("JSON of %T shows the key", v)
		}
	}
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
