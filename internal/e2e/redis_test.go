package e2e

import (
	"fmt"
	"strings"
	"testing"

	"fourfold/internal/openaitest"
	"fourfold/internal/redistest"
)

// Both programs reach Redis in every way that a configuration can name, with one file for both.
func TestRedisIsReachedInEveryWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		block func(t *testing.T) string
	}{
		{"a password in a variable", func(t *testing.T) string {
			rs := redistest.Start(t, redistest.Password("s3cret"))
			return fmt.Sprintf("{url: 'redis://%s', password_env: REDIS_PASSWORD}", rs.Addr)
		}},
		{"a user with few rights", func(t *testing.T) string {
			rs := redistest.Start(t, redistest.Users("../../deploy/k8s/components/redis/users.acl"))
			return fmt.Sprintf("{url: 'redis://worker:dev-worker@%s'}", rs.Addr)
		}},
		{"TLS", func(t *testing.T) string {
			rs := redistest.Start(t, redistest.TLS())
			return fmt.Sprintf("{url: 'rediss://%s', tls: {ca_file: %q}}", rs.Addr, rs.CAFile())
		}},
		{"a cluster", func(t *testing.T) string {
			rc := redistest.StartCluster(t, 3)
			return fmt.Sprintf("{cluster: {addrs: ['%s']}}", strings.Join(rc.Addrs(), "', '"))
		}},
		{"a sentinel", func(t *testing.T) string {
			rs := redistest.StartSentinel(t)
			return fmt.Sprintf("{sentinel: {master: %s, addrs: ['%s']}}", redistest.MasterName, rs.Addr)
		}},
		{"a cluster by URL", func(t *testing.T) string {
			rc := redistest.StartCluster(t, 3)
			return fmt.Sprintf("{url: 'redis://%s?addr=%s'}", rc.Addrs()[0], rc.Addrs()[1])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, model: openaitest.Start(t), dir: t.TempDir()}
			w.model.On("<only>", openaitest.Text("only"))
			config := w.write("worker.yaml", fmt.Sprintf(`
redis: %s
health_addr: ""
statsd: {addr: ""}
providers:
  primary: {kind: openai, base_url: %q, model: test-model, limits: {in_flight: 2, per_minute: 600}}
`, c.block(t), w.model.URL))
			w.start(config)
			flow := w.promptFlow("only", onlyStep, "only")
			secret := []string{"REDIS_PASSWORD=s3cret"}
			r := run(t, `{}`, secret, "enqueue", "run", flow, "--config", config, "--input", "-", "--wait", "--json")
			if d := r.decode(t); r.status != 0 || d.Outcome != "OK" {
				t.Errorf("status %d, %+v\n%s", r.status, d, r.stderr)
			}
			check := run(t, "", secret, "worker", "check", "--config", config)
			if check.status != 0 {
				t.Errorf("check: status %d\n%s", check.status, check.stdout)
			}
			for _, command := range [][]string{{"queues"}, {"list"}, {"list", "--open"}, {"rerun", "--failed"}} {
				if r := run(t, "", secret, "enqueue", append(command, "--config", config)...); r.status != 0 {
					t.Errorf("%v: status %d, %s", command, r.status, r.stderr)
				}
			}
		})
	}
}
