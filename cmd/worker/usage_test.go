package main

import (
	"strings"
	"testing"
)

// Whatever is wrong with a flag's value is wrong usage, and is told by the flag's name.
func TestAMalformedFlagIsWrongUsage(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for flag, values := range map[string][]string{
		"--redis":       {"foo://x", "x", "redis://h:port", "redis://h/nodb", "redis://%zz"},
		"--queues":      {"B ad=1", "a=0", "a=-1", "a=x", "a", "=1", "a=1;b=2"},
		"--concurrency": {"0", "-1", "x", "1.5", ""},
		"--drain":       {"0s", "-1s", "x", "5", ""},
		"--health-addr": {"8080", "h:p:q"},
		"--statsd":      {"somewhere", "unix://"},
		"--traces":      {"x", "ftp://h", "http://u:p@h", "http://"},
		"--log-level":   {"x", "wran"},
		"--log-format":  {"x"},
		"--base-url":    {"x", "ftp://h", "http://u:p@h/v1", "http://h/v1?key=1"},
		"--grace":       {"-1s", "x"},
	} {
		for _, value := range values {
			for _, word := range []string{"run", "check"} {
				args := []string{word, flag + "=" + value}
				if word == "run" {
					args = append(args, "--print-config") // a value that is taken must start nothing
				}
				status, _, errs := command(t, args...)
				if status != 2 || !strings.Contains(errs, flag) || !strings.Contains(errs, "Try: worker --help") {
					t.Errorf("%s %s=%q: status %d, %s", word, flag, value, status, errs)
				}
			}
		}
	}
}
