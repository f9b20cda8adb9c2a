package wire_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fourfold/content"
	"fourfold/internal/faultserver"
	"fourfold/provider"
	"fourfold/provider/openai"
)

const goodBody = `{"object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`

const goodStream = `data: {"object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}` +
	"\n\n" + `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func serve(t *testing.T, script faultserver.Script) *faultserver.Server {
	t.Helper()
	s, err := faultserver.Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, cfg openai.Config) *openai.Client {
	t.Helper()
	cfg.Name, cfg.Model = provider.MustName("primary"), "asked"
	c, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// drain reads a stream to its end.
func drain(chunks iter.Seq2[provider.Chunk, error]) {
	for _, err := range chunks {
		if err != nil {
			return
		}
	}
}

var hello = provider.Request{Prompt: content.New("hello")}

// net/http sends a request again by itself when a pooled connection breaks and the request counts as repeatable. A call that a
// provider may have worked on must not be sent twice, also not when a header says that it may.
func TestBrokenPooledConnectionIsNoSecondRequest(t *testing.T) {
	for _, headers := range []map[string]string{nil, {"Idempotency-Key": "k"}, {"X-Idempotency-Key": "k"}} {
		for _, mode := range []faultserver.Mode{faultserver.ResetBeforeHeaders, faultserver.CloseBeforeHeaders} {
			t.Run(fmt.Sprint(headers, mode), func(t *testing.T) {
				s := serve(t, func(r faultserver.Request) faultserver.Answer {
					if r.N == 1 {
						return faultserver.JSON(200, goodBody)
					}
					return faultserver.Answer{Mode: mode}
				})
				c := client(t, openai.Config{BaseURL: s.URL(), Headers: headers})
				if _, err := c.Complete(t.Context(), hello); err != nil {
					t.Fatal(err)
				}
				_, err := c.Complete(t.Context(), hello)
				if e, ok := provider.AsError(err); !ok || e.Kind() != provider.KindNetwork {
					t.Errorf("error = %v, want a network error", err)
				}
				calls := s.Calls()
				if len(calls) != 2 || calls[1].Conn != 1 {
					t.Errorf("%d requests, the last on connection %d; want 2 on the first", len(calls), calls[len(calls)-1].Conn)
				}
			})
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	events := faultserver.Events(goodStream)
	for name, answer := range map[string]faultserver.Answer{
		"whole": faultserver.JSON(200, goodBody), "stream": events, "error": faultserver.JSON(429, `{"error":{"code":"rate_limit_exceeded"}}`),
		"stream that is late to end": {Headers: events.Headers, Chunks: events.Chunks, Mode: faultserver.LateEnd, Interval: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(faultserver.Request) faultserver.Answer { return answer })
			c := client(t, openai.Config{BaseURL: s.URL()})
			for range 20 {
				if strings.HasPrefix(name, "stream") {
					drain(c.Stream(t.Context(), hello))
				} else {
					_, _ = c.Complete(t.Context(), hello)
				}
			}
			most := 1
			if answer.Mode == faultserver.LateEnd {
				most = 19 // the end is waited for some milliseconds: a slow machine may need longer, but not each time
			}
			if calls, conns := len(s.Calls()), s.Connections(); calls != 20 || conns > most {
				t.Errorf("%d calls over %d connections, want 20 over %d", calls, conns, most)
			}
		})
	}
}

// Connections beyond the pool are closed after use; those within it wait for the next calls.
func TestPoolHoldsAsManyConnectionsAsConfigured(t *testing.T) {
	const at = 40
	for _, c := range []struct{ pool, want int }{{at, at}, {4, at + at - 4}, {0, at}} {
		var opened atomic.Int32
		var arrived sync.WaitGroup
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			arrived.Done()
			arrived.Wait() // nobody is answered before all are there, so each call has a connection of its own
			_, _ = io.WriteString(w, goodBody)
		}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				opened.Add(1)
			}
		}
		s.Start()
		client := client(t, openai.Config{BaseURL: s.URL, MaxConnections: c.pool})
		for range 2 {
			arrived.Add(at)
			var done sync.WaitGroup
			for range at {
				done.Go(func() { _, _ = client.Complete(t.Context(), hello) })
			}
			done.Wait()
		}
		client.Close()
		s.Close()
		if got := int(opened.Load()); got != c.want {
			t.Errorf("pool of %d: %d connections for twice %d calls, want %d", c.pool, got, at, c.want)
		}
	}
}

func TestHTTP2WhereItIsOffered(t *testing.T) {
	var calls atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		if r.ProtoMajor != 2 {
			t.Errorf("protocol = %s", r.Proto)
		}
		switch r.Header.Get("Fault") {
		case "abort":
			panic(http.ErrAbortHandler) // RST_STREAM
		case "hang":
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, goodBody)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := client(t, openai.Config{BaseURL: s.URL, CAFile: ca}).Complete(t.Context(), hello); err != nil {
		t.Errorf("with the root: %v", err)
	}
	if _, err := client(t, openai.Config{BaseURL: s.URL}).Complete(t.Context(), hello); kindOf(err) != provider.KindNetwork {
		t.Errorf("without the root: %v, want a network error", err)
	}
	calls.Store(0)
	aborted := client(t, openai.Config{BaseURL: s.URL, CAFile: ca, Headers: map[string]string{"Fault": "abort"}})
	if _, err := aborted.Complete(t.Context(), hello); kindOf(err) != provider.KindNetwork || calls.Load() != 1 {
		t.Errorf("aborted: %v after %d calls, want a network error after 1", err, calls.Load())
	}
	hung := client(t, openai.Config{BaseURL: s.URL, CAFile: ca, Headers: map[string]string{"Fault": "hang"}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := hung.Complete(ctx, hello); reasonOf(err) != provider.ReasonTimeout {
		t.Errorf("hung: %v, want a timeout", err)
	}
}

func kindOf(err error) provider.Kind {
	if e, ok := provider.AsError(err); ok {
		return e.Kind()
	}
	return provider.KindNone
}

func reasonOf(err error) provider.Reason {
	if e, ok := provider.AsError(err); ok {
		return e.Reason()
	}
	return provider.ReasonNone
}

func TestHeaderTimeoutIsATimeout(t *testing.T) {
	s := serve(t, func(faultserver.Request) faultserver.Answer {
		return faultserver.Answer{Mode: faultserver.HangBeforeHeaders}
	})
	_, err := client(t, openai.Config{BaseURL: s.URL(), HeaderTimeout: 50 * time.Millisecond}).Complete(t.Context(), hello)
	if kindOf(err) != provider.KindNetwork || reasonOf(err) != provider.ReasonTimeout {
		t.Errorf("error = %v, want network/timeout", err)
	}
}

func TestProxyOnlyWhenConfigured(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	s := serve(t, func(faultserver.Request) faultserver.Answer { return faultserver.JSON(200, goodBody) })
	// No such host: only a proxy can answer for it, and without one nobody must.
	elsewhere := "http://provider.invalid/v1"
	if _, err := client(t, openai.Config{BaseURL: elsewhere, Proxy: s.URL()}).Complete(t.Context(), hello); err != nil {
		t.Errorf("with a proxy: %v", err)
	}
	if calls := s.Calls(); len(calls) != 1 || calls[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("the proxy saw %d calls", len(calls))
	}
	if _, err := client(t, openai.Config{BaseURL: elsewhere}).Complete(t.Context(), hello); kindOf(err) != provider.KindNetwork {
		t.Errorf("without a proxy: %v, want a network error", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	big := strings.Repeat("x", 33<<20)
	for name, answer := range map[string]faultserver.Answer{
		"whole":     faultserver.JSON(200, `{"choices":[{"message":{"content":"`+big+`"},"finish_reason":"stop"}]}`),
		"no answer": faultserver.JSON(200, "{"+strings.Repeat(" ", 33<<20)),
		"blanks":    faultserver.JSON(200, strings.Repeat("\n", 33<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(faultserver.Request) faultserver.Answer { return answer })
			_, err := client(t, openai.Config{BaseURL: s.URL()}).Complete(t.Context(), hello)
			e, ok := provider.AsError(err)
			if !ok || e.Kind() != provider.KindProviderError || !e.NextProvider() || !e.NextAttempt() {
				t.Errorf("error = %v, want a provider error after which another is asked", err)
			}
		})
	}
}

// Invalid UTF-8 is replaced in decoding, where nobody could find it later.
func TestInvalidUTF8IsNoJSON(t *testing.T) {
	body := strings.Replace(goodBody, "hello", "{\\\"a\\\":\\\"\xff\\\"}", 1)
	stream := strings.Replace(goodStream, "hello", "{\\\"a\\\":\\\"\xff\\\"}", 1)
	for name, answer := range map[string]faultserver.Answer{"whole": faultserver.JSON(200, body), "stream": faultserver.Events(stream)} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(faultserver.Request) faultserver.Answer { return answer })
			c := client(t, openai.Config{BaseURL: s.URL()})
			asked := hello
			asked.Output = &provider.OutputSchema{Name: "o", JSON: []byte(`{"type":"object"}`)}
			if _, err := c.Complete(t.Context(), asked); reasonOf(err) != provider.ReasonNotJSON {
				t.Errorf("JSON was asked for: %v, want not_json", err)
			}
			if _, err := c.Complete(t.Context(), hello); err != nil {
				t.Errorf("text was asked for: %v", err)
			}
		})
	}
}

func TestLeavingAStreamEndsTheCall(t *testing.T) {
	events := faultserver.Events(strings.SplitAfter(goodStream, "\n\n")[0]).With(faultserver.Stall)
	s := serve(t, func(faultserver.Request) faultserver.Answer { return events })
	for chunk, err := range client(t, openai.Config{BaseURL: s.URL()}).Stream(t.Context(), hello) {
		if err != nil || chunk.Text.Reveal() != "hello" {
			t.Fatalf("chunk = %v, %v", chunk, err)
		}
		break
	}
	select {
	case <-s.Calls()[0].Left:
	case <-time.After(patience):
		t.Error("the server never saw that the reader left")
	}
}

func TestStreamYieldsPiecesAsTheyCome(t *testing.T) {
	pieces := strings.SplitAfter(goodStream, "\n\n")
	s := serve(t, func(faultserver.Request) faultserver.Answer { return faultserver.Events(pieces...) })
	var texts []string
	var done *provider.Response
	for chunk, err := range client(t, openai.Config{BaseURL: s.URL()}).Stream(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Done != nil {
			done = chunk.Done
			continue
		}
		texts = append(texts, chunk.Text.Reveal())
	}
	if len(texts) != 1 || done == nil || done.Text.Reveal() != "hello" || done.FirstToken <= 0 || done.Model.String() != "m-1" {
		t.Errorf("pieces %q, end %+v", texts, done)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	s := serve(t, func(r faultserver.Request) faultserver.Answer {
		if r.N%2 == 0 {
			return faultserver.Events(goodStream)
		}
		return faultserver.JSON(200, goodBody)
	})
	c := client(t, openai.Config{BaseURL: s.URL(), MaxConnections: 32})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 20 {
				if r, err := c.Complete(t.Context(), hello); err != nil || r.Text.Reveal() != "hello" {
					t.Errorf("answer = %v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
	if calls, conns := len(s.Calls()), s.Connections(); calls != 640 || conns > 64 {
		t.Errorf("%d calls over %d connections", calls, conns)
	}
}

func TestSchemaThatIsNoJSONMakesNoCall(t *testing.T) {
	s := serve(t, func(faultserver.Request) faultserver.Answer { return faultserver.JSON(200, goodBody) })
	c := client(t, openai.Config{BaseURL: s.URL(), Capabilities: provider.CapabilitiesOf(provider.JSONSchema)})
	asked := hello
	asked.Output = &provider.OutputSchema{Name: "o", JSON: []byte(`{`)}
	if _, err := c.Complete(t.Context(), asked); kindOf(err) != provider.KindInvalidRequest || len(s.Calls()) != 0 {
		t.Errorf("error = %v after %d calls, want invalid_request and no call", err, len(s.Calls()))
	}
}
