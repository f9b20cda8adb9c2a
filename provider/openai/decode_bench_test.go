package openai

import (
	"strings"
	"testing"

	"fourfold/provider/internal/wire"
)

const benchChunk = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-2026-01-01","choices":[{"index":0,` +
	`"delta":{"content":" word"},"finish_reason":null}]}`

func BenchmarkDecodeChunk(b *testing.B) {
	d, data := &dialect{}, []byte(benchChunk)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var t wire.Turn
		if d.Event("", data, &t) != wire.Answer {
			b.Fatal("not read")
		}
	}
}

func BenchmarkDecodeAnswer(b *testing.B) {
	d := &dialect{}
	data := []byte(`{"id":"r1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("word ", 400) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":400}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var t wire.Turn
		if d.Whole(data, &t) != wire.Answer {
			b.Fatal("not read")
		}
	}
}
