package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/openai"
)

// A call over loopback: what a client costs beside the provider's own time. net/http on both ends is most of it; the bare
// call is the anchor to compare with.
func BenchmarkCall(b *testing.B) {
	words := 400
	whole := strings.Replace(goodBody, "hello", strings.Repeat("word ", words), 1)
	event := strings.SplitAfter(goodStream, "\n\n")
	stream := strings.Repeat(event[0], words) + event[1] + event[2]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.Contains(r.Header.Get("Accept"), "event-stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, stream)
			return
		}
		_, _ = io.WriteString(w, whole)
	}))
	defer s.Close()
	c, err := openai.New(openai.Config{Name: provider.MustName("p"), Model: "m", BaseURL: s.URL, Key: content.New("k")})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare net/http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL, strings.NewReader(`{"model":"m"}`))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.Run(fmt.Sprintf("whole answer of %d words", words), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Complete(b.Context(), hello); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("stream of %d tokens", words), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			drain(c.Stream(b.Context(), hello))
		}
	})
}
