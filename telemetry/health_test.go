package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fourfold/telemetry"
)

func TestProbesAnswerInFixedWords(t *testing.T) {
	up := func(context.Context) error { return nil }
	broken := func(context.Context) error { return errors.New(canary) }
	draining := func(context.Context) error { return fmt.Errorf("%s: %w", canary, telemetry.ErrDraining) }
	for _, c := range []struct {
		method, path string
		ready        func(context.Context) error
		code         int
		body         string
	}{
		{"GET", "/healthz", up, 200, `{"status":"alive"}`},
		{"GET", "/healthz", broken, 200, `{"status":"alive"}`},
		{"HEAD", "/healthz", draining, 200, `{"status":"alive"}`},
		{"GET", "/readyz", nil, 200, `{"status":"ready"}`},
		{"GET", "/readyz", up, 200, `{"status":"ready"}`},
		{"GET", "/readyz", broken, 503, `{"status":"unready"}`},
		{"GET", "/readyz", draining, 503, `{"status":"draining"}`},
		{"POST", "/readyz", up, 405, `{"status":"method not allowed"}`},
		{"DELETE", "/healthz", up, 405, `{"status":"method not allowed"}`},
		{"GET", "/", up, 404, `{"status":"not found"}`},
		{"GET", "/healthz/", up, 404, `{"status":"not found"}`},
		{"GET", "/" + strings.ReplaceAll(canary, " ", "-"), up, 404, `{"status":"not found"}`},
	} {
		w := httptest.NewRecorder()
		telemetry.NewHealth(c.ready).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.code || got != c.body {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, w.Code, got, c.code, c.body)
		}
	}
}

func TestReadinessThatDoesNotAnswerIsUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		h := telemetry.NewHealth(func(context.Context) error { <-never; return nil })
		w := httptest.NewRecorder()
		begin := time.Now()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", http.NoBody))
		if took := time.Since(begin); w.Code != 503 || took != telemetry.ReadyWithin {
			t.Errorf("%d after %v, want 503 after %v", w.Code, took, telemetry.ReadyWithin)
		}
		close(never)
	})
}

func TestHealthServerServesUntilItIsClosed(t *testing.T) {
	s, err := telemetry.ServeHealth(t.Context(), "127.0.0.1:0", telemetry.NewHealth(nil))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get("http://" + s.Addr() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || string(body) != "{\"status\":\"ready\"}\n" {
		t.Errorf("%v %d %q", err, res.StatusCode, body)
	}
	if _, err := telemetry.ServeHealth(t.Context(), s.Addr(), telemetry.NewHealth(nil)); err == nil {
		t.Error("two servers on one address")
	}
	s.Close()
	again, err := telemetry.ServeHealth(t.Context(), s.Addr(), telemetry.NewHealth(nil))
	if err != nil {
		t.Fatalf("the address is not free after Close: %v", err)
	}
	again.Close()
}
