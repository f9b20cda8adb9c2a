package provider_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

const canary = "CANARY-7f3a"

// wordy is a cause that says what nobody may read, and not behind a pointer.
type wordy string

func (w wordy) Error() string { return string(w) }

func TestErrorTextsAreNamesEnumerationsAndNumbers(t *testing.T) {
	primary := provider.MustName("primary")
	for _, c := range []struct {
		signal provider.Signal
		want   string
	}{
		{provider.Signal{Provider: primary, Status: 429}, "provider primary: rate_limit status 429"},
		{provider.Signal{Provider: primary, Status: 429, Codes: []string{"insufficient_quota"}}, "provider primary: rate_limit/quota status 429"},
		{provider.Signal{Provider: primary, Seen: provider.SeenNetwork}, "provider primary: network"},
		{provider.Signal{Provider: primary, Seen: provider.SeenIdleTimeout}, "provider primary: network/idle_timeout"},
		{provider.Signal{Seen: provider.SeenNoAnswer, Status: 200}, "provider -: provider_error status 200"},
	} {
		if got := provider.Judge(c.signal).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// prints returns what every printer and encoder makes of v.
func prints(v any) string {
	var all strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&all, verb+"\n", v)
	}
	data, err := json.Marshal(v)
	fmt.Fprintln(&all, string(data), err)
	data, err = json.Marshal(map[string]any{"v": v})
	fmt.Fprintln(&all, string(data), err)
	data, err = xml.Marshal(v)
	fmt.Fprintln(&all, string(data), err)
	var buf bytes.Buffer
	err = gob.NewEncoder(&buf).Encode(v)
	fmt.Fprintln(&all, buf.String(), err)
	return all.String()
}

func TestNoPrinterAndNoEncoderShowsAProvidersWords(t *testing.T) {
	hex := fmt.Sprintf("%x", canary)
	check := func(what string, v any) {
		t.Helper()
		if out := prints(v); strings.Contains(out, canary) || strings.Contains(out, hex) {
			t.Errorf("%s shows content:\n%s", what, out)
		}
	}
	body := fmt.Appendf(nil, `{"error":{"message":%q,"code":%q,"type":%q}}`, canary, canary, canary)
	causes := []error{wordy(canary), &url.Error{Op: canary, URL: canary, Err: wordy(canary)}, errors.Join(wordy(canary))}
	for s := range everySignal {
		if s.Status%100 > 0 {
			continue
		}
		s.Codes, s.Message = append(s.Codes, canary), canary
		for _, s.Cause = range causes {
			check("signal", s)
			check("pointer to a signal", &s)
			e := provider.Judge(s)
			check(e.Error(), e)
			check(e.Error(), e.Failure())
			check("wrapped", fmt.Errorf("step: %w", e))
			check("struct", struct{ Err error }{e})
		}
	}
	check("http", provider.Judge(provider.FromHTTP(400, http.Header{"X-Amzn-Errortype": {canary}}, body, time.Time{})))
	chain := provider.NewChain(fails(t, "a", provider.Signal{Status: 500, Cause: wordy(canary)}), fails(t, "b", provider.Signal{Status: 400, Message: canary}))
	_, err := chain.Complete(t.Context(), provider.Request{Prompt: content.New(canary)})
	check("chain", err)
	answer := provider.Response{Text: content.New(canary)}
	check("response", answer)
	check("chunk", provider.Chunk{Text: content.New(canary), Done: &answer})
	check("request", provider.Request{System: content.New(canary), Prompt: content.New(canary)})
}

func TestErrorsAreFoundByTypeAndByCause(t *testing.T) {
	cause := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	err := fmt.Errorf("wrapped: %w", provider.Judge(provider.FromError(context.Background(), cause)))
	if _, ok := errors.AsType[*provider.NetworkError](err); !ok || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v is not found", err)
	}
	if e, ok := provider.AsError(err); !ok || e.Kind() != provider.KindNetwork {
		t.Errorf("AsError: %v", e)
	}
	if _, ok := provider.AsError(io.EOF); ok {
		t.Error("an end of file is no provider's error")
	}
	types := map[provider.Kind]string{}
	for s := range everySignal {
		e := provider.Judge(s)
		types[e.Kind()] = fmt.Sprintf("%T", e)
	}
	if diff := cmp.Diff(map[provider.Kind]string{
		provider.KindNetwork: "*provider.NetworkError", provider.KindRateLimit: "*provider.RateLimitError", provider.KindAuth: "*provider.AuthError",
		provider.KindInvalidRequest: "*provider.InvalidRequestError", provider.KindModelUnavailable: "*provider.ModelUnavailableError",
		provider.KindProviderError: "*provider.ProviderError", provider.KindOutputValidation: "*provider.OutputValidationError",
	}, types); diff != "" {
		t.Error(diff)
	}
}

func TestTheExecutorHearsTheTable(t *testing.T) {
	for s := range everySignal {
		s.Cause = context.DeadlineExceeded // the table wins over what the cause looks like
		e := provider.Judge(s)
		got := executor.Classify(fmt.Errorf("step: %w", e))
		want := map[bool]executor.Retry{true: executor.RetryYes, false: executor.RetryNo}[e.NextAttempt()]
		if got.Class != e.Failure().Class || got.Retry != want {
			t.Fatalf("%v: the executor hears %v, %d", s, got.Class, got.Retry)
		}
	}
	if f := executor.Classify(provider.SchemaViolation(provider.MustName("a"))); f.Class != executor.ClassSchema || f.Retry != executor.RetryNo {
		t.Errorf("a schema violation is %v", f)
	}
}

func TestCallsThatEndWithoutAnAnswer(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want provider.Seen
	}{
		{"reset", t.Context(), &net.OpError{Err: syscall.ECONNRESET}, provider.SeenNetwork},
		{"cut", t.Context(), io.ErrUnexpectedEOF, provider.SeenNetwork},
		{"name", t.Context(), &net.DNSError{IsNotFound: true}, provider.SeenNetwork},
		{"transport's timer", t.Context(), &url.Error{Err: os.ErrDeadlineExceeded}, provider.SeenTimeout},
		{"caller gone", ended, io.ErrUnexpectedEOF, provider.SeenAborted},
		{"attempt over", late, io.ErrUnexpectedEOF, provider.SeenTimeout},
	} {
		if got := provider.FromError(c.ctx, c.err).Seen; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func FuzzErrorBodies(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"message":"x","type":"y","code":"z","param":null}}`, `{"error":"x"}`, `{"error":true}`, `[{"error":{}}]`, `[[[[[[]]]]]]`,
		`{"detail":[{"msg":"x"}]}`, `{"detail":"x"}`, `{"errors":[{"code":7003,"message":"x"}]}`, `{"__type":"a#ThrottlingException"}`,
		`{"error":{"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, `{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}`,
		`{"error":{"error":{"error":{"error":{"error":{}}}}}}`, "\ufeff{}", `{"code":1e400}`, `{"code":4e2}`, `{"error":{"code":-1}}`, `{"a"`, "<html>", "\xff",
	} {
		f.Add(400, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := provider.Judge(provider.FromHTTP(status, http.Header{}, []byte(body), time.Time{}))
		if e.Status() != status || e.Kind() == provider.KindNone {
			t.Errorf("%s", says(e))
		}
		if after, _ := e.RetryAfter(); after < 0 || after > 366*24*time.Hour {
			t.Errorf("wait %v", after)
		}
		if s, ok := provider.FromInBand([]byte(body)); ok {
			if e := provider.Judge(s); e.Status() != 0 && (e.Status() < 400 || e.Status() > 599) {
				t.Errorf("embedded status %d", e.Status())
			}
		}
	})
}
