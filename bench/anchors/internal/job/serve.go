package job

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// WorkerWord is the first argument of a worker process; the second is its Spec as JSON.
const WorkerWord = "worker"

// What the two processes say to each other, a line each. A worker's lines: ready · mark <place> <Unix ns> · done 0 <Unix ns>
// · report <JSON>. Lines to a worker: report · profile <file> · profiled · memory <file>. The end of its input ends it.
const (
	wordReady    = "ready"
	wordMark     = "mark"
	wordDone     = "done"
	wordReport   = "report"
	wordProfile  = "profile"
	wordProfiled = "profiled"
	wordMemory   = "memory"
)

// Serve is the life of a worker process: it works as spec says until in ends.
func Serve(spec string, in io.Reader, out io.Writer) error {
	var s Spec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	system, ok := Systems[s.System]
	if !ok {
		return fmt.Errorf("no system is called %q", s.System)
	}
	if s.Procs > 0 {
		runtime.GOMAXPROCS(s.Procs)
	}
	says := &speaker{w: out}
	t, err := newTally(s, func(word string, place int, at time.Time) { says.line(word, place, at.UnixNano()) })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		listen(in, says, t)
	}()
	return system.Work(ctx, s, t, func() { says.line(wordReady) })
}

type speaker struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *speaker) line(words ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(s.w, words...) // a parent that is gone also closes in
}

// listen does what the parent asks for until it says no more.
func listen(in io.Reader, says *speaker, t *Tally) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, file, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case wordReport:
			text, err := json.Marshal(t.report())
			if err != nil {
				return
			}
			says.line(wordReport, string(text))
		case wordProfile:
			complain(startProfile(file))
		case wordProfiled:
			pprof.StopCPUProfile()
			says.line(wordProfiled)
		case wordMemory:
			complain(profile("heap", file+".heap"))
			complain(profile("goroutine", file+".goroutine"))
		}
	}
}

func complain(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
	}
}

func startProfile(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

func profile(what, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup(what).WriteTo(f, 0)
}
