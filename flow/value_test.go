package flow

import (
	"encoding/json"
	"math"
	"testing"
)

func TestNumbersAreExactOrKeptAsText(t *testing.T) {
	for text, want := range map[string]any{
		"0":                       0,
		"-1":                      -1,
		"9223372036854775807":     math.MaxInt64,
		"-9223372036854775808":    math.MinInt64,
		"9223372036854775808":     json.Number("9223372036854775808"),
		"12345678901234567890":    json.Number("12345678901234567890"),
		"1.5":                     1.5,
		"1.50":                    1.5,
		"0.1":                     0.1,
		"0.30000000000000004":     0.30000000000000004,
		"0.300000000000000040001": json.Number("0.300000000000000040001"),
		"1e3":                     1000.0,
		"1.0E+2":                  100.0,
		"-0.00":                   math.Copysign(0, -1),
		"100000000000000000000":   1e20,
		"123e-20":                 1.23e-18,
		"1e400":                   json.Number("1e400"),
		"1e-400":                  json.Number("1e-400"),
		"5e-324":                  5e-324,
		"1e99999999999999999999":  json.Number("1e99999999999999999999"),
	} {
		if got := number(json.Number(text)); got != want {
			t.Errorf("%s: got %T %v, want %T %v", text, got, got, want, want)
		}
	}
}

func TestEncodeWritesWhatDecodeRead(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `"a\"b\\c\n\u0001é<&>"`, `[]`, `{}`, `[1,2.5,[{"a":{"b":null}}]]`,
		`{"a":1e400,"b":12345678901234567890,"é":""}`,
	} {
		v, err := decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := encode(v)
		if string(got) != text || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, text)
		}
	}
}

func TestDecodeTakesOneValue(t *testing.T) {
	for _, text := range []string{``, ` `, `1 2`, `{"a":1}]`, `{"a"`, `nul`, `01`, `"\x"`} {
		if v, err := decode([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, v)
		}
	}
}
