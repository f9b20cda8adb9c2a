package tests

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Without the component nothing is sent and nothing may be; with it the address is one that the worker takes and the network
// rules let through, whichever way DogStatsD goes.
func TestTracesReachTheAgentWhereTheyAreOn(t *testing.T) {
	worker := buildWorker(t)
	for _, o := range overlays(t) {
		on := strings.Contains(o.name, "traces")
		policy := of[networkPolicy](t, o, "NetworkPolicy")["fourfold-worker"]
		if got := policy.allows("192.168.10.20", "TCP", 4318); got != on {
			t.Errorf("%s: OTLP to the node: allowed %v, want %v", o.name, got, on)
		}
		if policy.allows("192.168.10.20", "TCP", 4317) {
			t.Errorf("%s: gRPC is allowed, and not spoken", o.name)
		}
		for class, w := range workers(t, o) {
			c := w.Spec.Template.Spec.Containers[0]
			endpoint := c.env("FOURFOLD_TRACES")
			if !on {
				if endpoint != "" {
					t.Errorf("%s %s: traces go to %s", o.name, class, endpoint)
				}
				continue
			}
			if c.field("NODE_IP") != "status.hostIP" || endpoint != "http://$(NODE_IP):4318" {
				t.Errorf("%s %s: traces go to %s, with NODE_IP from %q", o.name, class, endpoint, c.field("NODE_IP"))
			}
			// A variable that is made of another must stand behind it.
			var names []string
			for _, e := range c.Env {
				names = append(names, e.Name)
			}
			if slices.Index(names, "NODE_IP") > slices.Index(names, "FOURFOLD_TRACES") {
				t.Errorf("%s %s: NODE_IP stands behind FOURFOLD_TRACES, which then keeps $(NODE_IP) as it is", o.name, class)
			}
			config := filepath.Join(t.TempDir(), "worker.yaml")
			placeConfig(t, configOf(t, o)+"\ntraces: {sample: 0.1}\n", config)
			printed := printConfig(t, worker, config, w)
			for _, want := range []string{"otlp_endpoint: http://127.0.0.1:4318", "sample: 0.1"} {
				if !strings.Contains(printed, want) {
					t.Errorf("%s %s: --print-config does not show %s:\n%s", o.name, class, want, printed)
				}
			}
		}
	}
}
