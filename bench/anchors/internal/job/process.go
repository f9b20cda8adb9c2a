package job

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is a running worker process, as its parent sees it.
type Process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	ready chan struct{}
	ended chan struct{}

	marks     []chan time.Time
	announced chan time.Time
	reports   chan Report
	profiled  chan struct{}
	end       sync.Once
}

// errEnded is the error of waiting for a process that is gone.
var errEnded = errors.New("the worker process has ended")

// Start runs a worker process and returns when it is ready. The caller ends it by Stop or Kill.
func Start(ctx context.Context, s Spec) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := &Process{
		ready: make(chan struct{}), ended: make(chan struct{}), announced: make(chan time.Time, 1024), reports: make(chan Report, 1),
		profiled: make(chan struct{}, 1),
	}
	for range s.Marks {
		p.marks = append(p.marks, make(chan time.Time, 1))
	}
	p.cmd = exec.Command(self, WorkerWord, string(spec)) //nolint:noctx // it is ended by Stop and Kill, whatever the context
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.hear(out)
	if _, err := wait(ctx, p, p.ready); err != nil {
		p.Kill()
		return nil, fmt.Errorf("%s: %w", s.System, err)
	}
	return p, nil
}

// hear reads what the process says until it ends.
func (p *Process) hear(out io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case wordReady:
			close(p.ready)
		case wordMark, wordDone:
			var place int
			var nanos int64
			if _, err := fmt.Sscan(rest, &place, &nanos); err != nil {
				continue
			}
			if at := time.Unix(0, nanos); word == wordMark {
				p.marks[place] <- at
			} else {
				p.announced <- at
			}
		case wordReport:
			var r Report
			if json.Unmarshal([]byte(rest), &r) == nil {
				p.reports <- r
			}
		case wordProfiled:
			p.profiled <- struct{}{}
		}
	}
	_ = p.cmd.Wait() // how it ended is on standard error
}

func wait[T any](ctx context.Context, p *Process, from <-chan T) (T, error) {
	var none T
	select {
	case got := <-from:
		return got, nil
	case <-p.ended:
		return none, errEnded
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// Mark waits until there were so many finished runs as Spec.Marks says at place, and returns when that was.
func (p *Process) Mark(ctx context.Context, place int) (time.Time, error) {
	return wait(ctx, p, p.marks[place])
}

// Announced waits for the next announcement (Spec.Announce).
func (p *Process) Announced(ctx context.Context) (time.Time, error) { return wait(ctx, p, p.announced) }

// Report asks the process what it has done and spent.
func (p *Process) Report(ctx context.Context) (Report, error) {
	p.say(wordReport)
	return wait(ctx, p, p.reports)
}

// Profile has the CPU profiled into file; Profiled ends that.
func (p *Process) Profile(file string) { p.say(wordProfile, file) }

// Profiled ends what Profile began, and returns when the file is written.
func (p *Process) Profiled(ctx context.Context) error {
	p.say(wordProfiled)
	_, err := wait(ctx, p, p.profiled)
	return err
}

// Memory has what is on the heap, and where goroutines are, written into file.heap and file.goroutine.
func (p *Process) Memory(file string) { p.say(wordMemory, file) }

func (p *Process) say(words ...any) { _, _ = fmt.Fprintln(p.in, words...) } // a process that is gone shows in wait

// stopWithin is how long an orderly end may take.
const stopWithin = 10 * time.Second

// Stop lets the process end in order; it is killed when that takes long.
func (p *Process) Stop() {
	p.end.Do(func() {
		_ = p.in.Close() // fails only when it is gone
		select {
		case <-p.ended:
		case <-time.After(stopWithin):
			p.kill()
		}
	})
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill() { p.end.Do(p.kill) }

func (p *Process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it is gone
	<-p.ended
}
