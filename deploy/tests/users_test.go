package tests

import (
	"strings"
	"testing"

	"fourfold/internal/redistest"
)

// Overlays as they are, on real servers: dev beside the Redis of its component, prod by TLS under an authority of its own, on a
// single server and on a cluster. Each part is its own user, with the rights of users.acl and no others.
func TestTheFleetWorksUnderItsUsers(t *testing.T) {
	for _, c := range []struct {
		name, overlay string
		redis         func(*testing.T, *fleet)
	}{
		{"dev", "dev", func(t *testing.T, f *fleet) { f.on(redistest.Start(t, redistest.Users(users))) }},
		{"prod by TLS", "prod", func(t *testing.T, f *fleet) { f.on(redistest.Start(t, redistest.TLS(), redistest.Users(users))) }},
		{"prod by TLS on a cluster", "prod", func(t *testing.T, f *fleet) {
			f.onCluster(redistest.StartCluster(t, 3, redistest.TLS(), redistest.Users(users)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, c.overlay)
			c.redis(t, f)
			if out, err := f.command("worker", "check").CombinedOutput(); err != nil || !strings.Contains(string(out), "this user may do what a worker does") {
				t.Errorf("worker check: %v\n%s", err, out)
			}
			p := f.start()
			for _, example := range []string{"hello", "fan-in", "for-each"} {
				status := f.enqueue("run", "examples/"+example+"/flow.yaml", "--input", "examples/"+example+"/input.json", "--wait")
				if status.State != "done" || status.Outcome != "OK" {
					t.Errorf("%s: state %s, outcome %s", example, status.State, status.Outcome)
				}
			}
			for _, command := range []string{"queues", "list", "pause default", "resume default", "discard default"} {
				f.enqueue(strings.Fields(command)...)
			}
			f.awaitNothingOpen()
			f.stop(p)
			if strings.Contains(p.log.String(), "NOPERM") {
				t.Error("Redis refused the worker something")
			}
			// Without a worker the work stays, and the scaler sees it: else nobody would ever be started for it.
			f.enqueue("run", "examples/hello/flow.yaml", "--input", "examples/hello/input.json")
			if counted := f.open(); counted != 1 {
				t.Errorf("one run waits for a worker, the scaler counts %d", counted)
			}
		})
	}
}
