package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fourfold/internal/openaitest"
	"fourfold/internal/redistest"
)

// A trial of a runbook: the state that its monitor speaks of is made, then each command of the runbook is given to a shell as
// it is written, and what it answers is compared.
type trial struct {
	runbook string
	state   func(*night)
	answers []answer // one for each command of the runbook, in their order
	mended  func(*night)
}

type answer struct {
	before func(*night) // what the runbook says in words: the cause is mended, the fleet restarted
	says   string       // stands in what is printed, however wide its columns are
	status int
}

func TestRunbooksHelp(t *testing.T) {
	t.Parallel()
	books := runbooks(t)
	tried := map[string]bool{}
	for _, tr := range trials {
		commands, ok := books[tr.runbook]
		if !ok {
			t.Errorf("docs/operations.md has no runbook %s", tr.runbook)
			continue
		}
		tried[tr.runbook] = true
		t.Run(tr.runbook, func(t *testing.T) {
			t.Parallel()
			if len(commands) != len(tr.answers) {
				t.Fatalf("the runbook has %d commands, %d are tried:\n%s", len(commands), len(tr.answers), strings.Join(commands, "\n"))
			}
			n := newNight(t)
			tr.state(n)
			for i, a := range tr.answers {
				if a.before != nil {
					a.before(n)
				}
				printed, status := n.sh(commands[i])
				if status != a.status || !strings.Contains(spaces.ReplaceAllString(printed, " "), a.says) {
					t.Errorf("%s\nstatus %d, want %d and %q in:\n%s", commands[i], status, a.status, a.says, printed)
				}
			}
			if tr.mended != nil {
				tr.mended(n)
			}
		})
	}
	for title := range books {
		if !tried[title] {
			t.Errorf("nobody tries the runbook %s", title)
		}
	}
}

var (
	runbookHead  = regexp.MustCompile(`(?m)^### (.+)$`)
	spaces       = regexp.MustCompile(" +")
	commandBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
)

// runbooks are the commands of each, as docs/operations.md has them.
func runbooks(t *testing.T) map[string][]string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "../../docs/operations.md"), "\n## Runbooks\n")
	if !found {
		t.Fatal("docs/operations.md has no runbooks")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	books := map[string][]string{}
	heads := runbookHead.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		title := text[h[2]:h[3]]
		books[title] = nil
		for _, block := range commandBlock.FindAllStringSubmatch(text[h[1]:end], -1) {
			books[title] = append(books[title], strings.Split(strings.TrimSpace(block[1]), "\n")...)
		}
	}
	return books
}

// A night is what whoever is on call has: a fleet with the users that deploy/k8s installs, and a shell.
type night struct {
	*world
	worker *worker
	run    string // what the runbooks call RUN
	path   string // folder of the stand-in for kubectl
}

// kubectl does what `exec` asks for as the pod would, with its user and its configuration; of the rest it only says what it
// was asked: deploy/tests holds the names against the manifests.
const kubectl = `#!/bin/sh
[ "$1" = exec ] || { echo "kubectl $*"; exit 0; }
while [ "$1" != -- ]; do shift; done
shift
program=$1; shift
for word in "$@"; do
	shift
	case $word in /etc/fourfold/*) word=$POD/${word#/etc/fourfold/} ;; esac
	set -- "$@" "$word"
done
FOURFOLD_REDIS=$POD_REDIS exec "$PROGRAMS$program" "$@"
`

func newNight(t *testing.T) *night {
	t.Helper()
	w := &world{t: t, redis: redistest.Start(t, redistest.Users("../../deploy/k8s/components/redis/users.acl"), redistest.Persistent()), model: openaitest.Start(t), dir: t.TempDir()}
	n := &night{world: w, path: t.TempDir()}
	if err := os.WriteFile(filepath.Join(n.path, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err == nil {
		err = os.Symlink(examples, filepath.Join(w.dir, "examples"))
	}
	if err != nil {
		t.Fatal(err)
	}
	n.configure("")
	w.model.On("Answer with the word", openaitest.Text("ready"))
	return n
}

// configure writes the fleet's worker.yaml; more is of its provider.
func (n *night) configure(more string) string {
	return n.write("worker.yaml", fmt.Sprintf(`
health_addr: ""
statsd: {addr: ""}
providers:
  primary: {kind: openai, base_url: %q, model: test-model, timeout: 60s, limits: {in_flight: 9}, capabilities: [json_schema]%s}
`, n.model.URL, more))
}

func (n *night) url(user string) string {
	return fmt.Sprintf("redis://%[1]s:dev-%[1]s@%[2]s/0", user, n.redis.Addr)
}

// work starts a worker; further words are flags.
func (n *night) work(args ...string) {
	n.t.Helper()
	n.worker = n.start(filepath.Join(n.dir, "worker.yaml"), append([]string{"--redis", n.url("worker")}, args...)...)
}

// sh gives a line to a shell, as it is written but for RUN.
func (n *night) sh(line string) (printed string, status int) {
	n.t.Helper()
	if n.run != "" {
		line = strings.ReplaceAll(line, "RUN", n.run)
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = n.dir
	cmd.Env = append(cleanEnvironment(), "PATH="+programs+":"+n.path+":"+os.Getenv("PATH"),
		"FOURFOLD_REDIS="+n.url("producer"), "POD="+n.dir, "POD_REDIS="+n.url("worker"), "PROGRAMS="+programs)
	out, _ := cmd.CombinedOutput() // how it ended is the status
	if cmd.ProcessState == nil || ctx.Err() != nil {
		n.t.Fatalf("%s does not run, or does not end:\n%s", line, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must is sh for what a trial needs besides the runbook.
func (n *night) must(line string) string {
	n.t.Helper()
	printed, status := n.sh(line)
	if status != 0 {
		n.t.Fatalf("%s: status %d\n%s", line, status, printed)
	}
	return printed
}

// submit submits a run of one step and returns its name.
func (n *night) submit(more string) string {
	n.t.Helper()
	n.promptFlow("only", "  - {id: only, prompt: only.tmpl, "+quick+"}\n", "only")
	return strings.TrimSpace(n.must("echo '{}' | enqueue run only.yaml --input - " + more))
}

// ends waits for a run and wants it to be OK.
func (n *night) ends(run string) {
	n.t.Helper()
	n.must("enqueue wait --timeout 100s " + run)
}

// awaitPrinted repeats a command until it prints what is wanted.
func (n *night) awaitPrinted(line, want string) {
	n.t.Helper()
	awaitWithin(n.t, func() bool {
		printed, _ := n.sh(line)
		return strings.Contains(printed, want)
	})
}
