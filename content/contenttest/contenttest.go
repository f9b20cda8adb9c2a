// Package contenttest finds content where it must not be.
//
// A test puts [Canary] where customers put their texts, runs the code, and gives everything that came
// out (log lines, datagrams, Redis keys, error texts) to [Find]:
//
//	if form, found := contenttest.Find(out); found {
//		t.Errorf("the log shows the input, as %s", form)
//	}
package contenttest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Canary stands for content. It is one word of letters and digits, so that no encoder has to escape it,
// and found nowhere else.
const Canary = "Zk7Canary9wQxZeisig4Jd"

// core is the part of the canary that is looked for, so that a cut one is found too.
const core = "Canary9wQxZeisig"

// forms are the spellings of the core that printers and encoders make of a text or its bytes.
var forms = func() map[string][]byte {
	raw := []byte(core)
	m := map[string][]byte{
		"text":              raw,
		"hex":               []byte(hex.EncodeToString(raw)),
		"upper-case hex":    []byte(strings.ToUpper(hex.EncodeToString(raw))),
		"spaced hex":        fmt.Appendf(nil, "% x", raw),
		"upper spaced hex":  fmt.Appendf(nil, "% X", raw),
		"prefixed hex":      fmt.Appendf(nil, "%# x", raw),
		"upper prefixed":    fmt.Appendf(nil, "%# X", raw),
		"Go bytes":          inner(fmt.Sprintf("%#v", raw)),
		"decimal bytes":     inner(fmt.Sprint(raw)),
		"JSON bytes":        []byte(strings.ReplaceAll(string(inner(fmt.Sprint(raw))), " ", ",")),
		"binary bytes":      inner(fmt.Sprintf("%b", raw)),
		"octal bytes":       inner(fmt.Sprintf("%o", raw)),
		"octal bytes (0o)":  inner(fmt.Sprintf("%O", raw)),
		"octal bytes (0)":   inner(fmt.Sprintf("%#o", raw)),
		"binary bytes (0b)": inner(fmt.Sprintf("%#b", raw)),
		"characters":        inner(fmt.Sprintf("%c", raw)),
		"code points":       inner(fmt.Sprintf("%U", raw)),
		"named code points": inner(fmt.Sprintf("%#U", raw)),
		"UTF-16":            utf16(raw),
	}
	for shift := range 3 {
		// What precedes the text in the same encoding moves it against base64's groups of three.
		whole := raw[shift : len(raw)-(len(raw)-shift)%3]
		m[fmt.Sprintf("base64 (%d)", shift)] = []byte(base64.StdEncoding.EncodeToString(whole))
	}
	return m
}()

// Find reports whether out holds the [Canary], and as what: text, hex, base64 and the like.
func Find[S ~string | ~[]byte](out S) (form string, found bool) {
	b := []byte(out)
	for name, spelled := range forms {
		if bytes.Contains(b, spelled) {
			return name, true
		}
	}
	return "", false
}

// inner cuts the brackets and the type off a printed list.
func inner(list string) []byte {
	from := strings.IndexAny(list, "[{")
	if i := strings.Index(list, "{"); i >= 0 {
		from = i
	}
	return []byte(strings.TrimRight(list[from+1:], "]}"))
}

func utf16(ascii []byte) []byte {
	var wide []byte
	for _, c := range ascii {
		wide = append(wide, c, 0)
	}
	return wide
}
