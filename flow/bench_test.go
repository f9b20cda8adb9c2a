package flow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// largeInput is a document of about 1 MB with 2,000 tables.
func largeInput() Inputs {
	var tables []string
	for i := range 2000 {
		tables = append(tables, fmt.Sprintf(`{"id":"t%d","rows":[[1,2.5,"%s"]]}`, i, strings.Repeat("x", 450)))
	}
	return Inputs{Input: jsonOf(`{"kind":"content","tables":[` + strings.Join(tables, ",") + `]}`)}
}

func BenchmarkStep(b *testing.B) {
	s := sorting(b)
	for name, in := range map[string]Inputs{"small": {Input: jsonOf(`{"kind":"content","tables":[{"id":"a"}]}`)}, "1MB": largeInput()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bound, err := s.Bind(in)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := bound.Abstains(); err != nil {
					b.Fatal(err)
				}
				if _, _, err := bound.Prompt(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	s := sorting(b)
	value := json.RawMessage(`[` + strings.Repeat(`{"id":"a","kind":"content"},`, 99) + `{"id":"a","kind":"layout"}]`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeBundle(b *testing.B) {
	data := bundleOf(b, needed+"  - id: s\n    needs: [tables]\n    prompt: p.tmpl\n    output: o.json\n    degrade_to: input.a\n",
		map[string]string{"p.tmpl": "{{.input}}", "o.json": tableKinds}).Encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
