package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
)

type batchCommand struct {
	Flow     string     `arg:"" placeholder:"FLOW.yaml" help:"The flow file."`
	Inputs   string     `required:"" placeholder:"FILE" help:"One JSON value a line; - reads standard input."`
	Results  string     `placeholder:"FILE" help:"Where finished runs are written, one JSON document a line, in the order of the inputs; implies --wait."`
	KeyField *string    `placeholder:"FIELD" help:"Field of the input that is its key, such as id or meta.id; default a hash of line and flow."`
	Queue    queueFlag  `default:"default" help:"Queue to put the runs on."`
	OnDone   queueFlag  `placeholder:"QUEUE" help:"Queue that gets a task for each run that is done."`
	Wait     bool       `help:"Wait until every run is done; the exit status is the worst outcome."`
	InFlight int        `default:"256" placeholder:"N" help:"Runs submitted and not yet done at any time (with --wait), or submissions at once."`
	Values   valuesFlag `default:"sink" enum:"sink,all,none" help:"Whose values to write."`
}

// Help is what --help adds.
func (batchCommand) Help() string {
	return "Interrupted, the same command goes on where it was: a line's key makes its run, so nothing is queued twice, and rows that stand in the results file are not waited for again. Lines that are the same are the same run, unless --key-field tells them apart. A file is checked whole before anything is queued; on standard input a bad line becomes a row with an error."
}

func (c *batchCommand) Run(ctx context.Context, g *globals, streams cli.Streams) error {
	if c.InFlight < 1 {
		return cli.Usagef("--in-flight is a whole number from 1")
	}
	if c.KeyField != nil && slices.Contains(strings.Split(*c.KeyField, "."), "") {
		return cli.Usagef("--key-field is a field of the input, such as id or meta.id")
	}
	bundle, err := g.bundle(c.Flow)
	if err != nil {
		return err
	}
	keys := keyMaker{field: text(c.KeyField), bundle: bundle.SHA()}
	total := -1
	if c.Inputs != "-" {
		if total, err = checkInputs(c.Inputs, keys); err != nil {
			return err
		}
	}
	in, name := streams.In, "standard input"
	if c.Inputs != "-" {
		f, err := os.Open(c.Inputs)
		if err != nil {
			return err
		}
		defer f.Close()
		in, name = f, c.Inputs
	}
	s, err := g.open(ctx, streams)
	if err != nil {
		return err
	}
	defer s.close()
	b := &batch{session: s, command: c, bundle: bundle, progress: newProgress(streams, total, c.waits())}
	return b.run(ctx, newLines(in, name, keys))
}

func (c *batchCommand) waits() bool { return c.Wait || c.Results != "" }

// batch submits lines and hands out their rows in the order of the lines. Its memory is bounded by --in-flight.
type batch struct {
	*session
	command  *batchCommand
	bundle   *flow.Bundle
	progress *progress
	results  *os.File  // nil: none
	first    sync.Once // its run is the one that is watched for whether it begins
	tally    tally
}

// place is one line's place in the order.
type place struct {
	item item
	row  chan row // gets one row, or is closed when the batch ends before
}

func (b *batch) run(ctx context.Context, in *lines) error {
	if b.command.Results != "" {
		f, err := resume(b.command.Results, in, &b.tally)
		if err != nil {
			return err
		}
		defer f.Close()
		b.results = f
		b.progress.skip(b.tally)
	}
	err := b.pump(ctx, in)
	b.progress.close()
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; the runs that were submitted go on")
		}
		return fmt.Errorf("%w\nthe same command again goes on from here (rows written: %d)", err, b.tally.total())
	}
	if !b.json {
		fmt.Fprintln(b.streams.Out, b.tally.text(b.command.waits()))
	}
	return b.tally.exit()
}

// pump keeps at most InFlight lines between reading and writing.
func (b *batch) pump(parent context.Context, in *lines) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	places := make(chan *place, b.command.InFlight)
	room := make(chan struct{}, b.command.InFlight)
	var work sync.WaitGroup
	work.Go(func() {
		defer close(places)
		for {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			it, err := in.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				cancel(err)
				return
			}
			p := &place{item: it, row: make(chan row, 1)}
			places <- p // has room: there are never more places than tokens
			work.Go(func() {
				defer close(p.row)
				r, err := b.settle(ctx, it)
				if err != nil {
					cancel(fmt.Errorf("line %d: %w", it.line, err))
					return
				}
				b.progress.done(r)
				p.row <- r
			})
		}
	})
	for p := range places {
		r, ok := <-p.row
		if !ok {
			break
		}
		if err := b.write(r); err != nil {
			cancel(err)
			break
		}
		<-room
	}
	// Whatever ended the loop early has canceled; the reader may still wait for room or for input.
	go func() {
		for range places {
		}
	}()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	work.Wait()
	return context.Cause(ctx)
}

// settle submits one line and, with --wait, waits for its run. An error ends the batch: Redis is gone, or the run is.
func (b *batch) settle(ctx context.Context, it item) (row, error) {
	r := row{item: it}
	if it.err != nil {
		r.problem = it.err.Error()
		return r, nil
	}
	run, made, err := b.client.SubmitOnce(ctx, tasks.Submission{
		Bundle: b.bundle, Input: it.input, Queue: string(b.command.Queue), Key: it.key, OnDone: string(b.command.OnDone),
	})
	if conflict, ok := errors.AsType[*tasks.ConflictError](err); ok {
		r.problem = cli.Text(conflict)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.run, r.before = run, !made
	if !b.command.waits() {
		return r, nil
	}
	stop := func() {}
	b.first.Do(func() { stop = b.notice(ctx, run, b.progress.say) })
	st, err := b.client.Wait(ctx, run, b.command.Values.pick())
	stop()
	if err != nil {
		return r, about(run, err)
	}
	r.outcome = st.Outcome
	r.status, err = st.JSON()
	return r, err
}

// write puts a row where rows go and counts it.
func (b *batch) write(r row) error {
	b.tally.add(r.outcome, r.problem != "", r.before)
	line, err := r.encode()
	if err != nil {
		return err
	}
	if b.results != nil {
		if _, err := b.results.Write(line); err != nil {
			return err
		}
	}
	if b.json {
		_, err := b.streams.Out.Write(line)
		return err
	}
	if r.problem != "" {
		b.progress.say(fmt.Sprintf("line %d: %s", r.item.line, r.problem))
	}
	return nil
}

// tally counts rows: by outcome, with none for runs that nobody waited for, and rows that are errors.
type tally struct {
	outcomes [executor.OutcomeFailed + 1]int
	errors   int
	before   int // of the runs: submitted by an earlier batch
}

func (t *tally) add(o executor.Outcome, isError, before bool) {
	if isError {
		t.errors++
		return
	}
	t.outcomes[o]++
	if before {
		t.before++
	}
}

func (t *tally) total() int {
	n := t.errors
	for _, k := range t.outcomes {
		n += k
	}
	return n
}

func (t *tally) exit() error {
	switch {
	case t.errors > 0:
		return cli.Status(cli.StatusError)
	case t.outcomes[executor.OutcomeFailed] > 0:
		return exit(executor.OutcomeFailed)
	case t.outcomes[executor.OutcomeDegraded] > 0:
		return exit(executor.OutcomeDegraded)
	}
	return nil
}

func (t *tally) text(waited bool) string {
	runs := t.total() - t.errors
	text := cli.Count(runs, "run")
	if waited {
		text += ": " + countsText(tasks.Counts{
			OK: t.outcomes[executor.OutcomeOK], Degraded: t.outcomes[executor.OutcomeDegraded],
			Abstained: t.outcomes[executor.OutcomeAbstained], Failed: t.outcomes[executor.OutcomeFailed],
		})
	} else if t.before < runs || runs == 0 {
		text += " submitted"
	}
	if t.errors > 0 {
		text += fmt.Sprintf("; %s with errors", cli.Count(t.errors, "line"))
	}
	switch {
	case t.before == 0:
		return text
	case t.before < runs:
		text += fmt.Sprintf("; %d submitted before", t.before)
	default:
		text += "; all submitted before"
	}
	if !waited || t.outcomes[executor.OutcomeFailed] > 0 {
		text += "; enqueue rerun --failed runs the failed ones again"
	}
	return text
}
