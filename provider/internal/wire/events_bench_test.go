package wire

import (
	"strings"
	"testing"
)

// Cutting a stream into events, without reading them.
func BenchmarkEvents(b *testing.B) {
	token := `data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	stream := strings.Repeat(token, 400)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		src := newBounded(strings.NewReader(stream), maxBody)
		n := 0
		for range src.events(newEventSource(src)) {
			n++
		}
		if n != 400 {
			b.Fatal(n)
		}
	}
}
