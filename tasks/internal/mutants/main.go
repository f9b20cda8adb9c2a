package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("only", "", "a word in the names of the mutations to try")
	jobs := flag.Int("jobs", 2, "mutations at a time, each in a copy of its own")
	flag.Parse()
	if !try(pick(*only), max(1, *jobs)) {
		os.Exit(1)
	}
}

func pick(word string) []mutation {
	var some []mutation
	for _, m := range mutations {
		if strings.Contains(m.name, word) {
			some = append(some, m)
		}
	}
	return some
}

// verdict is what became of one mutation.
type verdict struct {
	caught string // by which test
	why    string // the mutation proves nothing
	took   time.Duration
}

// try prints a line for each mutation as it is decided, and says whether all were caught. What is not broken must pass.
func try(some []mutation, jobs int) bool {
	work := make(chan mutation)
	var mu sync.Mutex
	var bad []string
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			l := newLab()
			defer l.close()
			for m := range work {
				v := l.mutate(m)
				mu.Lock()
				fmt.Printf("%-58s %5s  %s\n", m.name, v.took.Round(time.Second), v)
				if v.bad(m) {
					bad = append(bad, m.name)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range append([]mutation{untouched}, some...) {
		work <- m
	}
	close(work)
	workers.Wait()
	fmt.Printf("%d mutations, %d not caught\n", len(some), len(bad))
	return len(bad) == 0
}

func (v verdict) String() string {
	switch {
	case v.why != "":
		return "INVALID: " + v.why
	case v.caught == "":
		return "passes all tests"
	}
	return "caught by " + v.caught
}

// bad says whether this is not what was wanted.
func (v verdict) bad(m mutation) bool {
	return v.why != "" || (v.caught == "") != (m.name == untouched.name)
}

// lab is a copy of the module.
type lab struct{ dir string }

// left are folders that no test of tasks needs.
var left = map[string]bool{".git": true, "bin": true, "dist": true, "node_modules": true}

func newLab() *lab {
	dir, err := os.MkdirTemp("", "fourfold-mutants")
	must(err)
	must(filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && left[d.Name()]:
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, path), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), data, 0o600)
	}))
	return &lab{dir}
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) } // the system clears what is left

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// mutate changes the file, runs the tests, and puts the file back.
func (l *lab) mutate(m mutation) (v verdict) {
	begin := time.Now()
	defer func() { v.took = time.Since(begin) }()
	for _, c := range m.changes {
		path := filepath.Join(l.dir, c.file)
		whole, err := os.ReadFile(path)
		must(err)
		if n := strings.Count(string(whole), c.old); n != 1 {
			return verdict{why: fmt.Sprintf("%d places in %s have the text that is to be changed", n, c.file)}
		}
		must(os.WriteFile(path, []byte(strings.Replace(string(whole), c.old, c.put, 1)), 0o600))
		defer func() { must(os.WriteFile(path, whole, 0o600)) }()
	}
	return l.test()
}

// stages are the tests, from quick to slow.
var stages = []struct{ folder, run string }{
	{"tasks/internal/runstate", "Test/embedded|TestWithoutMemory|TestNothingIsHandedOn"},
	{"tasks", "ADeath|ALate|OutboxAlone|TwoSweepers"},
	{"tasks", "TestLifeOnASingleRedis|ByHeartbeat|NobodyWorksOn|KillsItsWorkers|ClaimedWithItsTask|MayHaveEnded|WithoutRoom"},
	{"tasks", "Outage|WithoutMemory|AFlush"},
}

// test builds each package's tests once and runs the stages until one fails.
func (l *lab) test() verdict {
	built := map[string]string{}
	for i, s := range stages {
		if built[s.folder] == "" {
			binary := filepath.Join(l.dir, fmt.Sprint("stage", i, ".test"))
			if out, err := l.command(l.dir, "go", "test", "-c", "-o", binary, "./"+s.folder); err != nil {
				return verdict{why: "it does not compile: " + lastLines(out, 3)}
			}
			built[s.folder] = binary
		}
		out, err := l.command(filepath.Join(l.dir, s.folder), built[s.folder], "-test.run", s.run, "-test.failfast", "-test.timeout", "4m")
		if err != nil {
			return verdict{caught: failed(out)}
		}
	}
	return verdict{}
}

func (l *lab) command(dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), name, args...) // it ends by its own timeout
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FOURFOLD_TEST_PATIENCE=60s")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failed is the innermost test that failed first, or was running when time was over.
func failed(out string) string {
	name := ""
	for line := range strings.Lines(out) {
		trimmed := strings.TrimLeft(line, " \t")
		if rest, ok := strings.CutPrefix(trimmed, "--- FAIL: "); ok {
			found, _, _ := strings.Cut(rest, " ")
			if name != "" && !strings.HasPrefix(found, name+"/") {
				break
			}
			name = found
		}
	}
	if name != "" {
		return name
	}
	if _, running, ok := strings.Cut(out, "running tests:\n"); ok {
		return "a hang of " + strings.TrimSpace(lastLines(strings.SplitAfterN(running, "\n", 2)[0], 1))
	}
	return "a crash: " + lastLines(out, 2)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
