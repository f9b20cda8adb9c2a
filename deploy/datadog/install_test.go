package datadog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// account is as much of a Datadog account as the installer sees.
type account struct {
	mu      sync.Mutex
	things  map[string]map[string]map[string]any // kind → id → what was sent
	writes  []string                             // requests that changed something
	metrics map[string]bool                      // tag configurations
	unsent  bool                                 // no metric was ever sent
	busy    int                                  // answers of 429 still to come
}

func newAccount() *account {
	return &account{things: map[string]map[string]map[string]any{"slo": {}, "monitor": {}, "dashboard": {}}, metrics: map[string]bool{}}
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("DD-API-KEY") != "the-api-key" || r.Header.Get("DD-APPLICATION-KEY") != "the-app-key" {
		reply(w, http.StatusForbidden, map[string]any{"errors": []string{"Forbidden"}})
		return
	}
	if a.busy > 0 {
		a.busy--
		w.Header().Set("X-RateLimit-Reset", "0")
		reply(w, http.StatusTooManyRequests, map[string]any{"errors": []string{"slow down"}})
		return
	}
	if r.Method != http.MethodGet {
		a.writes = append(a.writes, r.Method+" "+r.URL.Path)
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[1] == "v2" {
		a.tagMetric(w, r, parts[3])
		return
	}
	a.thing(w, r, parts[2], strings.Join(parts[3:], "/"))
}

func (a *account) thing(w http.ResponseWriter, r *http.Request, kind, id string) {
	things, ok := a.things[kind]
	if !ok {
		reply(w, http.StatusNotFound, nil)
		return
	}
	var body map[string]any
	if text, _ := io.ReadAll(r.Body); len(text) > 0 && json.Unmarshal(text, &body) != nil {
		reply(w, http.StatusBadRequest, map[string]any{"errors": []string{"no JSON"}})
		return
	}
	switch r.Method {
	case http.MethodPost:
		id = fmt.Sprint(len(things) + 100)
	case http.MethodPut:
		if things[id] == nil {
			reply(w, http.StatusNotFound, nil)
			return
		}
	default:
		var all []map[string]any
		for id, t := range things {
			all = append(all, withID(kind, id, t))
		}
		reply(w, http.StatusOK, wrap(kind, "dashboards", all))
		return
	}
	things[id] = body
	if kind == "slo" {
		reply(w, http.StatusOK, wrap(kind, "", []map[string]any{withID(kind, id, body)}))
		return
	}
	reply(w, http.StatusOK, withID(kind, id, body))
}

func (a *account) tagMetric(w http.ResponseWriter, r *http.Request, name string) {
	switch {
	case a.unsent:
		reply(w, http.StatusNotFound, map[string]any{"errors": []string{"no such metric"}})
	case r.Method == http.MethodPost && a.metrics[name]:
		reply(w, http.StatusConflict, nil)
	case r.Method == http.MethodPost || r.Method == http.MethodPatch && a.metrics[name]:
		a.metrics[name] = true
		reply(w, http.StatusCreated, map[string]any{})
	default:
		reply(w, http.StatusNotFound, nil)
	}
}

func withID(kind, id string, t map[string]any) map[string]any {
	out := map[string]any{"id": id}
	if kind == "monitor" {
		out["id"] = json.Number(id) // monitors have numbers
	}
	for k, v := range t {
		out[k] = v
	}
	return out
}

func wrap(kind, name string, all []map[string]any) any {
	switch kind {
	case "slo":
		return map[string]any{"data": all}
	case "dashboard":
		return map[string]any{name: all}
	}
	return all
}

func reply(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func installer(t *testing.T, a *account) (*Installer, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	var out bytes.Buffer
	return &Installer{API: newAPI(server.URL, "the-api-key", "the-app-key"), Env: "prod", Out: &out}, &out
}

func TestInstallingTwiceMakesOneOfEach(t *testing.T) {
	a := newAccount()
	i, out := installer(t, a)
	counts := func() map[string]int {
		n := map[string]int{}
		for kind, things := range a.things {
			n[kind] = len(things)
		}
		return n
	}
	if err := i.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := counts()
	all := definitions(t, "prod")
	if first["slo"]+first["monitor"]+first["dashboard"] != len(all) {
		t.Errorf("installed %v of %d", first, len(all))
	}
	a.writes = nil
	if err := i.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, counts()); diff != "" {
		t.Errorf("the second run made more (-first +second):\n%s", diff)
	}
	for _, w := range a.writes {
		if !strings.HasPrefix(w, "PUT ") && !strings.Contains(w, "/api/v2/metrics/") {
			t.Errorf("the second run did %s", w)
		}
	}
	if strings.Contains(out.String(), "the-api-key") || strings.Contains(out.String(), "the-app-key") {
		t.Error("a key is printed")
	}
}

func TestEnvironmentsAreInstalledBesideEachOther(t *testing.T) {
	a := newAccount()
	i, _ := installer(t, a)
	for _, env := range []string{"prod", "staging", "prod"} {
		i.Env = env
		if err := i.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := len(a.things["monitor"]), 2*len(monitors(t, "prod")); got != want {
		t.Errorf("%d monitors for two environments, want %d", got, want)
	}
	if got := len(a.things["dashboard"]); got != 1 {
		t.Errorf("%d dashboards", got)
	}
}

func TestInstalledMonitorsNameObjectivesRunbooksAndPeople(t *testing.T) {
	a := newAccount()
	i, _ := installer(t, a)
	i.Runbooks, i.Notify = "https://runbooks.example/operations", "@slack-oncall"
	if err := i.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	burning := 0
	for _, m := range a.things["monitor"] {
		query, _ := m["query"].(string)
		message, _ := m["message"].(string)
		if strings.Contains(query, "{{") {
			t.Errorf("query %q was not filled in", query)
		}
		if strings.HasPrefix(query, "burn_rate(") {
			burning++
			id := strings.Split(query, `"`)[1]
			if slo := a.things["slo"][id]; slo == nil || slo["name"] != "[Fourfold prod] Usable runs" {
				t.Errorf("%s watches %v", query, slo["name"])
			}
		}
		if !strings.Contains(message, "\n\nRunbook: https://runbooks.example/operations#") || !strings.HasSuffix(message, "\n\n@slack-oncall") {
			t.Errorf("message %q", message)
		}
	}
	if burning == 0 {
		t.Error("no burn rate was installed")
	}
}

func TestInstallerWaitsWhenTheAPIIsBusy(t *testing.T) {
	a := newAccount()
	a.busy = 2
	i, _ := installer(t, a)
	if err := i.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.busy = 100
	var status *StatusError
	if err := i.Install(t.Context()); !errors.As(err, &status) || status.Status != http.StatusTooManyRequests {
		t.Errorf("an API that stays busy: %v", err)
	}
}

func TestMetricsThatWereNeverSentAreNoError(t *testing.T) {
	a := newAccount()
	a.unsent = true
	i, out := installer(t, a)
	if err := i.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "percentiles step.latency: not yet (HTTP 404); run this again") {
		t.Errorf("not told: %s", out)
	}
}

func TestTwoOfAThingAreNotGuessedBetween(t *testing.T) {
	a := newAccount()
	i, _ := installer(t, a)
	if err := i.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, m := range a.things["monitor"] {
		a.things["monitor"]["9"+id] = m
		break
	}
	if err := i.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "there are 2 of it") {
		t.Errorf("%v", err)
	}
}

func TestWrongKeysAreAnErrorWithoutTheKeys(t *testing.T) {
	server := httptest.NewServer(newAccount())
	defer server.Close()
	i := Installer{API: newAPI(server.URL, "wrong-key-1", "wrong-key-2"), Env: "prod", Out: io.Discard}
	err := i.Install(t.Context())
	var status *StatusError
	if !errors.As(err, &status) || status.Status != http.StatusForbidden || !slices.Equal(status.Errors, []string{"Forbidden"}) {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "wrong-key") {
		t.Errorf("a key is in %v", err)
	}
}

func TestKeysGoToTheSiteAlone(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with headers %v", r.Header)
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	i := Installer{API: newAPI(server.URL, "the-api-key", "the-app-key"), Env: "prod", Out: io.Discard}
	if err := i.Install(t.Context()); err == nil {
		t.Error("a redirect is taken for success")
	}
	for _, c := range [][3]string{{"evil.example/path", "k", "k"}, {"user@host", "k", "k"}, {"", "", "k"}, {"", "k", ""}} {
		if _, err := NewAPI(c[0], c[1], c[2]); err == nil {
			t.Errorf("site %q with keys %q and %q is taken", c[0], c[1], c[2])
		}
	}
}
