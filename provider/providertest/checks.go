package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fourfold/provider"
)

// ways are the two ways to ask.
var ways = []struct {
	name string
	ask  func(context.Context, provider.Client, provider.Request) ending
}{{"Complete", complete}, {"Stream", stream}}

// ending is how a call ended.
type ending struct {
	answer provider.Response
	err    error
	text   string // of the chunks
	tokens int
	ends   int // pairs with Done or an error
	extra  int // pairs after the first of these
}

func complete(ctx context.Context, c provider.Client, req provider.Request) ending {
	answer, err := c.Complete(ctx, req)
	return ending{answer: answer, err: err, ends: 1}
}

func stream(ctx context.Context, c provider.Client, req provider.Request) (e ending) {
	for chunk, err := range c.Stream(ctx, req) {
		if e.ends > 0 {
			e.extra++
		}
		if chunk.IsToken() {
			e.tokens++
		}
		e.text += chunk.Text.Reveal()
		if err != nil || chunk.Done != nil {
			e.ends++
			e.err = err
			if chunk.Done != nil {
				e.answer = *chunk.Done
			}
		}
	}
	return e
}

func wholeFixture(r reporter, f Fixture) {
	if f.Answers == nil || f.Hangs == nil || len(f.Fails) == 0 {
		r.Errorf("the fixture needs Answers, Hangs and at least one of Fails")
	}
}

// clients returns every client of the fixture.
func (f Fixture) clients() []provider.Client {
	all := []provider.Client{f.Answers, f.Hangs, f.Breaks}
	for _, c := range f.Fails {
		all = append(all, c)
	}
	return slices.DeleteFunc(all, func(c provider.Client) bool { return c == nil })
}

func steady(r reporter, f Fixture) {
	for _, c := range f.clients() {
		name, able := c.Name(), c.Capabilities()
		_, _ = c.Complete(ended(r), f.Request)
		if name.IsZero() || c.Name() != name || c.Capabilities() != able {
			r.Errorf("the client was %q with %v, and is %q with %v", name, able, c.Name(), c.Capabilities())
		}
	}
}

func completes(r reporter, f Fixture) {
	e := complete(r.Context(), f.Answers, f.Request)
	if e.err != nil {
		r.Errorf("no answer: %v", e.err)
		return
	}
	signed(r, f.Answers, e.answer)
}

// signed checks that an answer is whole and says whose it is.
func signed(r reporter, c provider.Client, answer provider.Response) {
	r.Helper()
	switch {
	case answer.Text.Reveal() == "":
		r.Errorf("the answer has no text")
	case answer.Provider != c.Name():
		r.Errorf("the answer is by %q, not by %q", answer.Provider, c.Name())
	case answer.Model.IsZero():
		r.Errorf("the answer names no model")
	case answer.ModelProvider.IsZero():
		r.Errorf("the answer names no model provider")
	}
}

func streams(r reporter, f Fixture) {
	e := stream(r.Context(), f.Answers, f.Request)
	switch {
	case e.err != nil:
		r.Errorf("no answer: %v", e.err)
	case e.ends != 1 || e.extra != 0:
		r.Errorf("%d ends and %d pairs after the first", e.ends, e.extra)
	case e.tokens == 0:
		r.Errorf("no token was shown")
	case e.text != e.answer.Text.Reveal():
		r.Errorf("the chunks make up %d bytes, the answer at the end has %d, or others", len(e.text), len(e.answer.Text.Reveal()))
	default:
		signed(r, f.Answers, e.answer)
	}
}

func leavesRequest(r reporter, f Fixture) {
	req := f.Request
	req.Output = &provider.OutputSchema{Name: "answer", JSON: json.RawMessage(`{"type":"object"}`)}
	stop, temperature := []string{"END"}, 0.5
	req.Params = provider.Params{Stop: stop, Temperature: &temperature}
	for _, way := range ways {
		_ = way.ask(r.Context(), f.Answers, req)
		if !bytes.Equal(req.Output.JSON, []byte(`{"type":"object"}`)) || req.Output.Name != "answer" || stop[0] != "END" || temperature != 0.5 {
			r.Errorf("%s changed the request", way.name)
		}
	}
}

func concurrent(r reporter, f Fixture) {
	var wg sync.WaitGroup
	for range 8 {
		for _, way := range ways {
			wg.Go(func() {
				if e := way.ask(r.Context(), f.Answers, f.Request); e.err != nil {
					r.Errorf("%s beside others: %v", way.name, e.err)
				}
			})
		}
	}
	wg.Wait()
}

// ended returns a context that has ended.
func ended(r reporter) context.Context {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	return ctx
}

func endedContext(r reporter, f Fixture) {
	for _, way := range ways {
		e := way.ask(ended(r), f.Answers, f.Request)
		aborted(r, way.name, e, provider.ReasonAborted)
	}
}

// aborted checks that a call ended with its context, once and for the right reason.
func aborted(r reporter, way string, e ending, want provider.Reason) {
	r.Helper()
	failure, ok := provider.AsError(e.err)
	switch {
	case e.err == nil:
		r.Errorf("%s answers although its context has ended", way)
	case !ok:
		r.Errorf("%s: %T is no provider.Error", way, e.err)
	case failure.Kind() != provider.KindNetwork || failure.Reason() != want:
		r.Errorf("%s: %v, want the reason %v", way, failure, want)
	case e.ends != 1 || e.extra != 0:
		r.Errorf("%s: %d ends and %d pairs after the first", way, e.ends, e.extra)
	}
}

func contextEnds(r reporter, f Fixture) {
	for _, way := range ways {
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(time.Millisecond, cancel)
		aborted(r, way.name, way.ask(ctx, f.Hangs, f.Request), provider.ReasonAborted)
		ctx, cancel = context.WithTimeout(r.Context(), time.Millisecond)
		aborted(r, way.name, way.ask(ctx, f.Hangs, f.Request), provider.ReasonTimeout)
		cancel()
	}
}

func fails(r reporter, f Fixture) {
	for kind, c := range f.Fails {
		for _, way := range ways {
			e := way.ask(r.Context(), c, f.Request)
			failure, ok := provider.AsError(e.err)
			switch {
			case e.err == nil:
				r.Errorf("%s: an answer, want an error of kind %v", way.name, kind)
			case !ok:
				r.Errorf("%s: %T is no provider.Error", way.name, e.err)
			case failure.Kind() != kind || failure.Provider() != c.Name():
				r.Errorf("%s: %v, want the kind %v by %q", way.name, failure, kind, c.Name())
			case e.ends != 1 || e.extra != 0:
				r.Errorf("%s: %d ends and %d pairs after the first", way.name, e.ends, e.extra)
			case e.answer.Text.Reveal() != "":
				r.Errorf("%s: a text beside an error", way.name)
			}
		}
	}
}

func contentFree(r reporter, f Fixture) {
	quotes := func(way string, err error) {
		if err == nil {
			return
		}
		encoded, _ := json.Marshal(err)
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v %q", err, err, err), string(encoded)} {
			if strings.Contains(text, f.Canary) {
				r.Errorf("%s: the error shows what the provider or the prompt said", way)
			}
		}
	}
	for _, way := range ways {
		for _, c := range f.Fails {
			quotes(way.name, way.ask(r.Context(), c, f.Request).err)
		}
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(time.Millisecond, cancel)
		quotes(way.name, way.ask(ctx, f.Hangs, f.Request).err)
	}
	if f.Breaks != nil {
		quotes("Stream", stream(r.Context(), f.Breaks, f.Request).err)
	}
}

func breaksOff(r reporter, f Fixture) {
	if f.Breaks == nil {
		return
	}
	e := stream(r.Context(), f.Breaks, f.Request)
	failure, ok := provider.AsError(e.err)
	switch {
	case e.err == nil:
		r.Errorf("a stream that breaks off is an answer")
	case !ok:
		r.Errorf("%T is no provider.Error", e.err)
	case e.tokens == 0:
		r.Errorf("the fixture's stream breaks off before its first token")
	case failure.NextProvider():
		r.Errorf("%v: another provider may answer after the first token", failure)
	case e.ends != 1 || e.extra != 0:
		r.Errorf("%d ends and %d pairs after the first", e.ends, e.extra)
	case e.answer.Text.Reveal() != "":
		r.Errorf("a text beside an error")
	}
}

func canBeLeft(r reporter, f Fixture) {
	for range 3 {
		for _, err := range f.Answers.Stream(r.Context(), f.Request) {
			if err != nil {
				r.Errorf("no answer: %v", err)
			}
			break // a client that goes on after this panics here
		}
	}
	if e := stream(r.Context(), f.Answers, f.Request); e.err != nil && !errors.Is(e.err, context.Canceled) {
		r.Errorf("no answer after streams that were left: %v", e.err)
	}
}
