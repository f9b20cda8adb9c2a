package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fourfold/internal/openaitest"
)

// With a configuration the demo's flow runs on the providers that it names; its Redis is left alone.
func TestTheDemoOnAConfiguredProvider(t *testing.T) {
	t.Parallel()
	model := openaitest.Start(t)
	model.On("For each table", openaitest.Text(`{"tables": []}`))
	model.On("one role", openaitest.Text(`{"blocks": []}`))
	model.On("Summarise", openaitest.Text(`{"summary": "Short."}`))
	w := &world{t: t, model: model, dir: t.TempDir()}
	config := w.write("worker.yaml", fmt.Sprintf(`
redis: {url: redis://127.0.0.1:1}
providers:
  mine: {kind: openai, base_url: %q, model: test-model, capabilities: [json_schema]}
`, model.URL))
	r := run(t, "", nil, "worker", "demo", "--config", config, "--json")
	var doc struct {
		Simulated bool
		Outcomes  map[string]int
	}
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.status != 0 {
		t.Fatalf("status %d, %v\n%s%s", r.status, err, r.stdout, r.stderr)
	}
	if doc.Simulated || doc.Outcomes["OK"] != 20 || !strings.Contains(r.stderr, "REAL: mine is asked and paid for") {
		t.Errorf("%+v\n%s", doc, r.stderr)
	}
	// Twenty documents, four of them without tables.
	if n := model.Total(); n != 56 {
		t.Errorf("%d calls, want 56", n)
	}
	poor := w.write("poor.yaml", strings.Replace(read(t, config), "capabilities: [json_schema]", "capabilities: []", 1))
	if r := run(t, "", nil, "worker", "demo", "--config", poor); r.status != 1 || !strings.Contains(r.stderr, "json_schema") {
		t.Errorf("a provider that cannot do what the flow requires: status %d\n%s", r.status, r.stderr)
	}
}
