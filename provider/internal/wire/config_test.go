package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/anthropic"
	"fourfold/provider/gemini"
	"fourfold/provider/openai"
)

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
	g, err := gemini.New(gemini.Config{Name: provider.MustName("p"), Model: "m", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{cfg, &cfg, o, *o, a, *a, g, *g} {
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
