package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is wrong with a flag's value is wrong usage: said before anything is read from Redis, and by the flag's name.
func TestAMalformedFlagIsWrongUsage(t *testing.T) {
	dir := t.TempDir()
	flowFile, inputs := filepath.Join(dir, "flow.yaml"), filepath.Join(dir, "in.jsonl")
	for name, text := range map[string]string{
		flowFile: "flow: f\nsteps:\n  - {id: a, handler: h}\n", inputs: "{}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const id = "default.00000000000000000000000000"
	run := []string{"run", flowFile, "--input", inputs}
	batch := []string{"batch", flowFile, "--inputs", inputs}
	for _, c := range []struct {
		words  []string
		flag   string
		values []string
	}{
		{run, "--redis", []string{"foo://x", "x", "redis://h:port", "redis://h/nodb", "redis://h?unknown=1", "redis://%zz"}},
		{[]string{"list"}, "--redis", []string{"foo://x"}},
		{run, "--json", []string{"x"}},
		{run, "--key", []string{""}},
		{run, "--queue", []string{"B ad", "", "-x", "a.b", strings.Repeat("a", 64)}},
		{run, "--on-done", []string{"B ad", ""}},
		{run, "--timeout", []string{"x", "5", "-5s", "0s", ""}},
		{run, "--values", []string{"x", ""}},
		{batch, "--queue", []string{"B ad", ""}},
		{batch, "--on-done", []string{"B ad", ""}},
		{batch, "--in-flight", []string{"0", "-1", "x", "1.5", ""}},
		{batch, "--key-field", []string{"", ".", "a..b", "a."}},
		{batch, "--values", []string{"x"}},
		{[]string{"status", id}, "--values", []string{"x"}},
		{[]string{"watch", id}, "--values", []string{"x"}},
		{[]string{"wait", id}, "--timeout", []string{"x", "-5s", "0s"}},
		{[]string{"rerun", id}, "--timeout", []string{"x", "-5s", "0s"}},
		{[]string{"rerun", "--failed"}, "--class", []string{"x", ""}},
		{[]string{"rerun", "--failed"}, "--since", []string{"x", "-5s", "0s", ""}},
		{[]string{"rerun", "--failed"}, "--queue", []string{"B ad", ""}},
		{[]string{"list"}, "--queue", []string{"B ad", ""}},
		{[]string{"list"}, "--outcome", []string{"x", "", "none"}},
		{[]string{"list"}, "--limit", []string{"0", "-1", "x", ""}},
	} {
		for _, value := range c.values {
			status, errs := enqueue(append(append([]string{"--redis=redis://127.0.0.1:1"}, c.words...), c.flag+"="+value)...)
			if status != 2 || !strings.Contains(errs, c.flag) || !strings.Contains(errs, "Try: enqueue --help") {
				t.Errorf("%s %s=%q: status %d, %s", c.words[0], c.flag, value, status, errs)
			}
		}
	}
	for _, word := range []string{"pause", "resume", "discard"} {
		if status, errs := enqueue(word, "B ad"); status != 2 || !strings.Contains(errs, "not a queue name") {
			t.Errorf("%s: status %d, %s", word, status, errs)
		}
	}
	for _, words := range [][]string{{"status"}, {"watch"}, {"wait"}, {"cancel"}, {"rerun"}} {
		for _, run := range []string{"x", "default.short", "B ad.00000000000000000000000000", id + "0", ""} {
			if status, errs := enqueue(append(words, run)...); status != 2 {
				t.Errorf("%s %q: status %d, %s", words[0], run, status, errs)
			}
		}
	}
}

func enqueue(args ...string) (status int, errs string) {
	s, _, stderr := streams()
	return run(context.Background(), args, s), stderr.String()
}
