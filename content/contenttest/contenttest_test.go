package contenttest_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"fourfold/content/contenttest"
)

func TestFindSeesTheCanaryInEverySpelling(t *testing.T) {
	type named string
	text := contenttest.Canary
	raw := []byte(text)
	tests := map[string]string{
		"text":         text,
		"within text":  "the answer was: " + text + ".",
		"cut in front": text[3:],
		"cut at end":   text[:len(text)-3],
		"query":        url.QueryEscape(text),
		"hex":          hex.EncodeToString(raw),
	}
	for shift := range 3 {
		tests[fmt.Sprintf("base64 shifted by %d", shift)] = base64.StdEncoding.EncodeToString(append(make([]byte, shift), raw...))
		tests[fmt.Sprintf("base64url shifted by %d", shift)] = base64.RawURLEncoding.EncodeToString(append(make([]byte, shift), raw...))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "% X", "%# x", "%# X", "%#x"} {
		tests["string "+verb] = fmt.Sprintf(verb, text)
		tests["named "+verb] = fmt.Sprintf(verb, named(text))
		tests["pointer in struct "+verb] = fmt.Sprintf(verb, struct{ s named }{named(text)})
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%b", "%#b", "%o", "%#o", "%O", "%c", "%U", "%#U"} {
		tests["bytes "+verb] = fmt.Sprintf(verb, raw)
	}
	numbers := make([]int, len(raw))
	for i, c := range raw {
		numbers[i] = int(c)
	}
	for name, v := range map[string]any{"JSON text": text, "JSON bytes": raw, "JSON numbers": numbers} {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		tests[name] = string(out)
	}
	for name, out := range tests {
		if _, found := contenttest.Find(out); !found {
			t.Errorf("%s: not found in %q", name, out)
		}
	}
}

func TestFindSeesNothingElse(t *testing.T) {
	for _, out := range []string{"", "[content]", "canary", contenttest.Canary[:8], "0xc000012345"} {
		if form, found := contenttest.Find(out); found {
			t.Errorf("found as %s in %q", form, out)
		}
	}
}
