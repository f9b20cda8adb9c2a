package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shellBlock is a fenced block of commands in a document. Each of its lines that starts one of our programs, or make, is
// checked; lines that only print, or that use other people's programs, are left alone.
var shellBlock = regexp.MustCompile("(?ms)^```(?:sh|bash|console)\n(.*?)^```")

// A command is one line of a document that starts make, worker or enqueue.
type command struct {
	where   string // the document
	line    string
	program string // make, worker, enqueue
	args    []string
}

func TestReadmeHasTheTwoFirstCommands(t *testing.T) {
	readme := read(t, "README.md")
	for _, want := range []string{"go run ./cmd/worker demo", "make test"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}

func TestCommandsInTheDocumentsExist(t *testing.T) {
	targets := makeTargets(t)
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", "./cmd/worker", "./cmd/enqueue")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	commands := documentedCommands(t)
	if len(commands) == 0 {
		t.Fatal("no command found in any document: the pattern no longer fits")
	}
	for _, c := range commands {
		if c.program == "make" {
			for _, arg := range c.args {
				if _, ok := targets[arg]; !ok && !strings.Contains(arg, "=") {
					t.Errorf("%s: %q: the Makefile has no target %s", c.where, c.line, arg)
				}
			}
			continue
		}
		checkProgram(t, filepath.Join(programs, c.program), c)
	}
}

var flagName = regexp.MustCompile(`^--?[a-z][a-z-]*`)

// checkProgram asks the program's own help whether it knows the command's word and flags, and looks for the files named.
func checkProgram(t *testing.T, program string, c command) {
	t.Helper()
	help := []string{"--help"}
	if len(c.args) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(c.args[0]) {
		help = []string{c.args[0], "--help"}
	}
	out, err := exec.CommandContext(t.Context(), program, help...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %q: %s %s: %v\n%s", c.where, c.line, c.program, strings.Join(help, " "), err, out)
		return
	}
	for _, arg := range c.args {
		if name := flagName.FindString(arg); name != "" && !strings.Contains(string(out), name) {
			t.Errorf("%s: %q: %s does not know %s", c.where, c.line, c.program, name)
		}
		if strings.HasPrefix(arg, "examples/") {
			if _, err := os.Stat(filepath.Join(root, arg)); err != nil {
				t.Errorf("%s: %q: there is no %s", c.where, c.line, arg)
			}
		}
	}
}

func documentedCommands(t *testing.T) []command {
	t.Helper()
	var commands []command
	for _, f := range textFiles(t) {
		if !strings.HasSuffix(f.path, ".md") || f.path == "CHANGELOG.md" {
			continue
		}
		for _, block := range shellBlock.FindAllStringSubmatch(f.text, -1) {
			joined := strings.ReplaceAll(block[1], "\\\n", " ")
			for line := range strings.SplitSeq(joined, "\n") {
				if c, ok := parseCommand(line); ok {
					c.where = f.path
					commands = append(commands, c)
				}
			}
		}
	}
	return commands
}

var (
	prompt     = regexp.MustCompile(`^\s*(\$ )?`)
	assignment = regexp.MustCompile(`^[A-Z][A-Z0-9_]*=`)
)

// parseCommand reads `go run ./cmd/worker demo`, `bin/enqueue queues --json | jq .` and `make test`.
func parseCommand(line string) (command, bool) {
	c := command{line: strings.TrimSpace(line)}
	words := strings.Fields(prompt.ReplaceAllString(line, ""))
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) > 2 && words[0] == "go" && words[1] == "run" && strings.HasPrefix(words[2], "./cmd/") {
		words = words[2:]
	}
	if len(words) == 0 {
		return c, false
	}
	c.program = filepath.Base(words[0])
	if c.program != "make" && c.program != "worker" && c.program != "enqueue" {
		return c, false
	}
	for _, word := range words[1:] {
		if strings.ContainsAny(word[:1], "|#&;<>") {
			break
		}
		c.args = append(c.args, strings.Trim(word, `'"`))
	}
	return c, true
}
