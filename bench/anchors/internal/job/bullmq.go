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
	"syscall"
	"time"
)

// bullMQ is BullMQ on Redis: a run is a flow. It is at home in Node.js, so that both sides are a program of that
// (bullmq/anchor.mjs): a worker process becomes it, and a producer talks with it.
type bullMQ struct{}

// Work does not return while all goes well: the process is Node.js from here on, with the same standard input and output.
func (bullMQ) Work(_ context.Context, s Spec, _ *Tally, _ func()) error {
	program, err := nodeProgram("worker", s)
	if err != nil {
		return err
	}
	return syscall.Exec(program[0], program, os.Environ())
}

// nodeProgram is how to run one side of BullMQ.
func nodeProgram(role string, s Spec) ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	anchor, err := installedAnchor()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return []string{node, anchor, role, string(spec)}, nil
}

// bullMQProducer is the parent of a producer in Node.js. Its submissions go over a pipe and back, which takes part in their time.
type bullMQProducer struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	tally *Tally
	ended chan struct{}

	mu        sync.Mutex
	submitted int
	answers   map[int]chan error // of the runs under way, by their number
	trips     int64
}

func (bullMQ) Producer(s Spec, t *Tally) (Producer, error) {
	program, err := nodeProgram("producer", s)
	if err != nil {
		return nil, err
	}
	p := &bullMQProducer{tally: t, ended: make(chan struct{}), answers: map[int]chan error{}}
	p.cmd = exec.Command(program[0], program[1:]...) //nolint:noctx // it is ended by Close, whatever the context
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
	return p, nil
}

func (p *bullMQProducer) Submit(ctx context.Context, r Run) error {
	answer := make(chan error, 1)
	p.mu.Lock()
	p.submitted++
	p.answers[p.submitted] = answer
	_, err := fmt.Fprintln(p.in, p.submitted, r.Steps)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-p.ended:
		return errProducerEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errProducerEnded = errors.New("the producer process has ended")

// hear reads the producer's answers until it ends.
func (p *bullMQProducer) hear(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var number int
		var trips int64
		if _, err := fmt.Sscan(lines.Text(), &number, &trips); err != nil {
			continue
		}
		var failed error
		if words := strings.SplitN(lines.Text(), " ", 3); len(words) == 3 {
			failed = errors.New(words[2])
		}
		p.answered(number, trips, failed)
	}
	_ = p.cmd.Wait() // how it ended is on standard error
}

func (p *bullMQProducer) answered(number int, trips int64, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tally != nil {
		p.tally.writes.Add(trips - p.trips)
	}
	p.trips = trips
	if answer, ok := p.answers[number]; ok {
		answer <- failed
		delete(p.answers, number)
	}
}

func (p *bullMQProducer) Close() {
	_ = p.in.Close() // fails only when it is gone
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		_ = p.cmd.Process.Kill() // likewise
		<-p.ended
	}
}
