package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"fourfold/internal/openaitest"
)

var trials = []trial{
	{"Outcomes degraded", func(n *night) {
		n.model.On("<only>", openaitest.Status(503))
		n.work()
		n.promptFlow("only", "  - {id: only, prompt: only.tmpl, degrade_to: '0', "+quick+"}\n", "only")
		n.sh("echo '{}' | enqueue run only.yaml --input - --key k --wait")
		n.run = runOf(n.must("enqueue list"))
	}, []answer{
		{says: "upstream-5xx"},
		{says: `"failure_class":"upstream-5xx"`, status: 3},
	}, func(n *night) {
		n.model.On("<only>", openaitest.Text("well"))
		if printed, status := n.sh("echo '{}' | enqueue run only.yaml --input - --key k --wait"); status != 3 {
			n.t.Errorf("the old key is no longer the old run: status %d\n%s", status, printed)
		}
		n.must("echo '{}' | enqueue run only.yaml --input - --key k2 --wait")
	}},

	{"Outcomes failed", func(n *night) {
		n.model.On("<only>", openaitest.Status(503))
		n.model.On("<join>", openaitest.Text("joined"))
		n.work()
		n.ended(n.submit(""))
		n.promptFlow("both", "  - {id: only, prompt: only.tmpl, "+quick+"}\n  - {id: join, prompt: join.tmpl, needs: [{step: only, mode: optional}], "+quick+"}\n", "only", "join")
		n.run = strings.TrimSpace(n.must("echo '{}' | enqueue run both.yaml --input -"))
		n.ended(n.run)
	}, []answer{
		{says: "FAILED"},
		{says: "DEGRADED"},
		{before: func(n *night) { n.model.On("<only>", openaitest.Text("well")) }, says: "1 run started again"},
		{says: "started again"},
	}, func(n *night) {
		n.ends(n.run)
		n.awaitPrinted("enqueue list --outcome FAILED", "no runs")
		if calls := n.model.Calls("<join>"); calls != 2 { // it was given a value that it had not before
			n.t.Errorf("%d calls of the step after the failed one", calls)
		}
	}},

	{"Queue backlog", func(n *night) {
		n.run = n.submit("")
		n.must("enqueue pause default")
		n.model.On("<only>", openaitest.Text("well"))
		n.work()
		awaitLog(n.t, n.worker, "worker started")
	}, []answer{
		{says: "paused"},
		{says: "deployment"},
		{says: "goes on"},
	}, func(n *night) { n.ends(n.run) }},

	{"Archived tasks", func(n *night) {
		client := asynq.NewClientFromRedisClient(n.redis.Admin(n.t))
		if _, err := client.Enqueue(asynq.NewTask("another:program", []byte("hello")), asynq.Queue("default")); err != nil {
			n.t.Fatal(err)
		}
		if _, err := client.Enqueue(asynq.NewTask("fourfold:step", []byte("hello")), asynq.Queue("default")); err != nil {
			n.t.Fatal(err)
		}
		n.work()
		awaitLog(n.t, n.worker, "task rejected and archived")
		if !strings.Contains(n.worker.log.String(), `"reason":"undecodable-task"`) {
			n.t.Error("the log does not say why the task was archived")
		}
		n.awaitPrinted("enqueue queues --json", `"archived":1`)
	}, []answer{
		{says: "ARCHIVED"},
		{says: "no runs"},
		{says: "1 archived task of queue default discarded"},
	}, func(n *night) {
		n.awaitPrinted("enqueue queues --json", `"archived":0`)
		n.model.On("<only>", openaitest.Text("well"))
		n.ends(n.submit(""))
	}},

	{"No outcomes", func(n *night) {
		n.model.On("<only>", openaitest.Text("well"))
		n.run = n.submit("--queue bulk")
		n.work() // serves default
		// As if it had waited for an hour.
		if err := n.redis.Admin(n.t).ZIncrBy(n.t.Context(), "fourfold:{bulk}:due", -float64(time.Hour.Milliseconds()), n.run).Err(); err != nil {
			n.t.Fatal(err)
		}
	}, []answer{
		{says: "kubectl get pods"},
		{says: "primary answered"},
		{says: "bulk 1 "},
		{says: "bulk."},
	}, func(n *night) {
		n.work("--queues", "default=1,bulk=1")
		n.ends(n.run)
	}},

	{"Rate limits", func(n *night) {
		n.model.On("<only>", openaitest.TooManyRequests("600"), openaitest.Text("well"))
		n.work()
		n.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 2, per_attempt: 20s, total: 2h}}\n", "only")
		n.run = strings.TrimSpace(n.must("echo '{}' | enqueue run only.yaml --input -"))
		n.awaitPrinted("enqueue queues --json", `"outbox":1`)
	}, []answer{
		{says: "OUTBOX"},
	}, func(n *night) {
		// A cancelled run stands for a wait of ten minutes: parked, it can be ended at once.
		n.must("enqueue cancel " + n.run)
		n.ended(n.run)
		if calls := n.model.Calls("<only>"); calls != 1 {
			n.t.Errorf("%d calls of a step that was told to wait", calls)
		}
	}},

	{"Breaker open", func(n *night) {
		n.configure(", breaker: {failures: 2, cooldown: 100ms}")
		n.model.On("<only>", openaitest.Status(503))
		n.model.On("Answer with the word", openaitest.Status(503))
		n.work()
		n.ended(n.submit(""))
	}, []answer{
		{says: "primary: provider_error", status: 1},
	}, func(n *night) {
		n.model.On("Answer with the word", openaitest.Text("ready"))
		n.model.On("<only>", openaitest.Text("well"))
		awaitWithin(n.t, func() bool { // it closes by itself; a call that it refuses costs an attempt
			n.ended(n.submit(""))
			return n.outcome() == "OK"
		})
	}},

	{"Strays", func(n *night) {
		n.work()
		awaitLog(n.t, n.worker, "worker started")
	}, []answer{
		{says: "rollout restart -n fourfold deployment/fourfold-worker-default"},
	}, func(n *night) {
		if status := n.worker.terminate(); status != 0 { // as the rollout does
			n.t.Errorf("exit status %d", status)
		}
	}},

	redisTrial("away", func(n *night) { n.redis.Kill() }, "no answer from", func(n *night) { n.redis.Restart() }),
	redisTrial("full", func(n *night) { n.set("maxmemory", "1mb") }, "its memory is full (OOM)", func(n *night) { n.set("maxmemory", "0") }),
	redisTrial("a refused user", func(n *night) { n.acl("worker", "resetpass") }, "WRONGPASS", func(n *night) { n.acl("worker", ">dev-worker") }),
	redisTrial("a user with too few rights", func(n *night) { n.acl("worker", "-@scripting") }, "may not run scripts", func(n *night) { n.acl("worker", "+@scripting") }),
	redisTrial("flushed", func(n *night) {
		gone := n.submit("")
		if err := n.redis.Admin(n.t).FlushAll(n.t.Context()).Err(); err != nil {
			n.t.Fatal(err)
		}
		if printed, status := n.sh("enqueue status " + gone); status != 1 || !strings.Contains(printed, "is not there") {
			n.t.Errorf("status %d: %s", status, printed)
		}
	}, "this user may do what a worker does", func(*night) {}),

	{"Drain cut", func(n *night) { n.configure("") }, []answer{
		{says: "drain 1m40s fits the grace period of 2m10s", status: 1}, // the producer may not touch limits
	}, func(n *night) {
		printed, _ := n.sh("worker check --config worker.yaml --drain 30s --grace 40s --flow examples/document-intake/flow.yaml")
		for _, want := range []string{"drain 30s fits the grace period of 40s", "step classify-tables of document-intake may take 1m0s, longer than drain 30s"} {
			if !strings.Contains(printed, want) {
				n.t.Errorf("no %q in:\n%s", want, printed)
			}
		}
	}},
}

// redisTrial is one of the states that the runbook Redis tells apart. A run is open meanwhile, and goes on by itself.
func redisTrial(_ string, breaks func(*night), says string, mends func(*night)) trial {
	status := 1
	if strings.HasPrefix(says, "this user may do") {
		status = 0
	}
	return trial{"Redis", func(n *night) {
		n.model.On("<only>", openaitest.Text("well"))
		n.work()
		awaitLog(n.t, n.worker, "worker started")
		breaks(n)
	}, []answer{
		{says: "kubectl get pods"},
		{says: says, status: status},
	}, func(n *night) {
		mends(n)
		n.ends(n.submit(""))
	}}
}

// ended waits for a run, however it ends.
func (n *night) ended(run string) {
	n.t.Helper()
	if printed, status := n.sh("enqueue wait --timeout 100s " + run); status != 0 && status != 3 && status != 4 {
		n.t.Fatalf("enqueue wait: status %d\n%s", status, printed)
	}
}

// outcome is that of the newest run.
func (n *night) outcome() string {
	n.t.Helper()
	return strings.Fields(strings.Split(n.must("enqueue list --limit 1"), "\n")[1])[2]
}

// runOf is the first run of a list.
func runOf(list string) string { return strings.Fields(strings.Split(list, "\n")[1])[0] }

func (n *night) set(name, value string) {
	n.t.Helper()
	if err := n.redis.Admin(n.t).ConfigSet(n.t.Context(), name, value).Err(); err != nil {
		n.t.Fatal(err)
	}
}

// acl changes a user's rules, and ends its connections, as a rotation does.
func (n *night) acl(user string, rules ...string) {
	n.t.Helper()
	admin := n.redis.Admin(n.t)
	if err := admin.ACLSetUser(n.t.Context(), user, rules...).Err(); err != nil {
		n.t.Fatal(err)
	}
	if err := admin.ClientKillByFilter(n.t.Context(), "USER", user).Err(); err != nil {
		n.t.Fatal(err)
	}
}

// awaitWithin polls until something is so; only a hang ends it otherwise.
func awaitWithin(t *testing.T, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !so() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("it never comes to be")
		}
	}
}
