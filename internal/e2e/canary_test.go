package e2e

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"fourfold/internal/openaitest"
)

// canary stands in everything that is a customer's: whoever finds it where content may not be has found a leak.
const canary = "canary7f3a9b"

// canaryFlow has a step for each way in which content can meet a failure. Its first answer carries the canary on, into the
// prompts, expressions and items of the rest.
const canaryFlow = `
flow: canary
steps:
  - {id: good, prompt: good.tmpl, %[1]s}
  - {id: refused, prompt: refused.tmpl, %[1]s}
  - {id: unknown, prompt: unknown.tmpl, %[1]s}
  - {id: limited, prompt: limited.tmpl, %[1]s}
  - {id: invalid, prompt: invalid.tmpl, %[1]s}
  - {id: broken, prompt: broken.tmpl, %[1]s}
  - {id: reset, prompt: reset.tmpl, %[1]s}
  - {id: hangs, prompt: hangs.tmpl, budget: {attempts: 2, per_attempt: 1s, total: 5s, backoff: 10ms}}
  - {id: garbage, prompt: garbage.tmpl, %[1]s}
  - {id: page, prompt: page.tmpl, %[1]s}
  - {id: prose, prompt: prose.tmpl, output: number.json, %[1]s}
  - {id: misfit, prompt: misfit.tmpl, output: number.json, %[1]s}
  - {id: cut, prompt: cut.tmpl, %[1]s}
  - {id: degrades, prompt: degrades.tmpl, degrade_to: 'input.text + "!"', %[1]s}
  - {id: compares, prompt: compares.tmpl, abstain: {on: 'input.text > 3', to: '0'}, %[1]s}
  - {id: divides, prompt: divides.tmpl, degrade_to: 'int(input.text)', %[1]s}
  - {id: renders, prompt: renders.tmpl, needs: [good], %[1]s}
  - {id: each, prompt: each.tmpl, for_each: 'input.list', on_item_failure: degrade, needs: [good], %[1]s}
  - {id: nolist, prompt: nolist.tmpl, for_each: 'input.text', %[1]s}
  - {id: joins, handler: assemble, needs: [{step: good, mode: optional}, {step: degrades, mode: optional}], %[1]s}
`

func (w *world) canaryFlow() string {
	w.t.Helper()
	says := `{"error":{"message":"` + canary + `","code":"` + canary + `","param":"` + canary + `"}}`
	for id, answers := range map[string][]openaitest.Answer{
		"good":     {openaitest.Text(canary)},
		"refused":  {openaitest.Raw(401, "application/json", says)},
		"unknown":  {openaitest.Raw(404, "application/json", says)},
		"limited":  {openaitest.Raw(429, "application/json", says)},
		"invalid":  {openaitest.Raw(400, "application/json", says)},
		"broken":   {openaitest.Raw(500, "application/json", says)},
		"reset":    {openaitest.Reset()},
		"hangs":    {openaitest.Hang()},
		"garbage":  {openaitest.Raw(200, "application/json", `{"choices": "`+canary+`"`)},
		"page":     {openaitest.Raw(502, "text/html", "<html>"+canary+"</html>")},
		"prose":    {openaitest.Text("The answer is " + canary)},
		"misfit":   {openaitest.Text(`"` + canary + `"`)},
		"cut":      {openaitest.Truncated(canary)},
		"degrades": {openaitest.Raw(503, "application/json", says)},
		"compares": {openaitest.Text(canary)},
		"divides":  {openaitest.Raw(503, "application/json", says)},
		"renders":  {openaitest.Text(canary)},
		"each":     {openaitest.Text(canary), openaitest.Raw(500, "text/plain", canary)},
		"nolist":   {openaitest.Text(canary)},
	} {
		w.model.On("<"+id+">", answers...)
		w.write(id+".tmpl", "<"+id+"> {{json .}} "+canary)
	}
	w.write("renders.tmpl", "<renders> {{index .steps.good.value 99}}")
	w.write("number.json", `{"type": "number"}`)
	return w.write("canary.yaml", fmt.Sprintf(canaryFlow, "budget: {attempts: 2, per_attempt: 60s, total: 160s, backoff: 10ms}"))
}

// Content is in Redis under fourfold:*:val and in the bundle, and nowhere else: not in a log line or what a process prints,
// not in a datagram, not in a command that touches asynq's keys or publishes. All kinds of failures are provoked, and a
// worker that is killed, one that is cut, and a Redis that goes away.
func TestNoContentLeavesTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	commands := w.monitor()
	datagrams, statsd := listenRaw(t)
	config := w.write("canary-worker.yaml", strings.Replace(read(t, w.config("log: {level: debug}\ndrain: 200ms\n"+brief)), `statsd: {addr: ""}`, "statsd: {addr: "+statsd+"}", 1))
	flow := w.canaryFlow()
	input := fmt.Sprintf(`{"text": %q, "list": [%[1]q, %[1]q, %[1]q]}`, canary)
	first := w.start(config)

	d := w.run(flow, input, "--key", canary).decode(t)
	if len(d.Steps) != 20 || d.Outcome != "FAILED" || d.step(t, "good").Outcome != "OK" || d.step(t, "divides").Outcome != "FAILED" {
		t.Errorf("the flow does not bring about what it should: %+v", d)
	}
	if again := w.enqueue("rerun", d.Run); again.status != 0 {
		t.Errorf("rerun: %s", again.stderr)
	}
	w.enqueue("cancel", d.Run)
	conflict := w.run(flow, `{"other": "`+canary+`"}`, "--key", canary)
	if conflict.status != 1 || strings.Contains(conflict.stderr, canary) {
		t.Errorf("a conflict quotes content: %s", conflict.stderr)
	}

	// Deaths, cuts and outages in the middle of a call.
	w.model.On("<held>", openaitest.Hang())
	w.write("held.tmpl", "<held> {{json .}}")
	held := w.write("held.yaml", "flow: held\nsteps:\n  - {id: held, prompt: held.tmpl, budget: {attempts: 1, per_attempt: 50s, total: 50s}}\n")
	w.enqueueWith(input, "run", held, "--input", "-")
	w.model.Await("<held>", 1)
	first.kill()
	second := w.start(config)
	w.model.Await("<held>", 2)
	w.redis.Pause()
	awaitLog(t, second, "claims could not be extended")
	w.redis.Cont()
	if status := second.terminate(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	w.model.On("<held>", openaitest.Text(canary))
	third := w.start(config)
	if open := w.enqueueWith(input, "run", held, "--input", "-", "--wait"); open.status != 0 {
		t.Errorf("the last run: %s", open.stderr)
	}
	third.terminate()

	for i, p := range []*worker{first, second, third} {
		refuse(t, fmt.Sprintf("what worker %d prints", i+1), p.log.String())
	}
	refuse(t, "datagrams", datagrams())
	if seen := commands(); !strings.Contains(seen, canary) || !strings.Contains(seen, `"asynq:{default}:pending"`) {
		t.Error("the monitor of Redis sees nothing")
	} else {
		for line := range strings.Lines(seen) {
			if strings.Contains(line, `"evalsha"`) || strings.Contains(line, `"eval"`) { // it brings what goes to asynq's keys and to the run's; each command that it makes has a line
				continue
			}
			if strings.Contains(line, "asynq:") || strings.Contains(strings.ToLower(line), `"publish"`) {
				refuse(t, "a command", line)
			}
		}
	}
	refuse(t, "asynq's keys", w.asynqKeys())
}

// refuse fails the test when text holds the canary.
func refuse(t *testing.T, what, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s: there is nothing to look at", what)
	}
	if i := strings.Index(text, canary); i >= 0 {
		t.Errorf("%s holds content: … %s", what, text[max(0, i-300):min(len(text), i+100)])
	}
}

// monitor records every command that Redis executes, those of scripts included.
func (w *world) monitor() (seen func() string) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.redis.Addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		w.t.Fatal(err)
	}
	var b lockedBuffer
	lines := bufio.NewReader(conn)
	if ok, err := lines.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		w.t.Fatalf("monitor: %q %v", ok, err)
	}
	go func() { _, _ = lines.WriteTo(&b) }() // ends with the connection
	return b.String
}

// listenRaw takes datagrams as they come.
func listenRaw(t *testing.T) (seen func() string, addr string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var b lockedBuffer
	go func() {
		packet := make([]byte, 64<<10)
		for {
			n, _, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = b.Write(append(packet[:n:n], '\n')) // it never fails
		}
	}()
	return b.String, conn.LocalAddr().String()
}

// asynqKeys is all that is left under asynq:*, names and contents.
func (w *world) asynqKeys() string {
	w.t.Helper()
	ctx, rdb := w.t.Context(), w.redis.Admin(w.t)
	var b strings.Builder
	keys, err := rdb.Keys(ctx, "asynq:*").Result()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, key := range keys {
		var held any
		switch rdb.Type(ctx, key).Val() {
		case "hash":
			held = rdb.HGetAll(ctx, key).Val()
		case "list":
			held = rdb.LRange(ctx, key, 0, -1).Val()
		case "set":
			held = rdb.SMembers(ctx, key).Val()
		case "zset":
			held = rdb.ZRangeWithScores(ctx, key, 0, -1).Val()
		default:
			held = rdb.Get(ctx, key).Val()
		}
		fmt.Fprintln(&b, key, held)
	}
	return b.String()
}
