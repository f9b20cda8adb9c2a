package tasks

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

// eachBundle has a for_each step whose prompt reads the run's input and the item.
func eachBundle(t testing.TB) *flow.Bundle {
	t.Helper()
	b, err := flow.Load(fstest.MapFS{
		"flow.yaml": {Data: []byte("flow: f\nsteps:\n  - id: each\n    for_each: input.items\n    prompt: p.tmpl\n    chain: c\n" +
			"    budget: {attempts: 1, per_attempt: 1s, total: 1s}\n")},
		"p.tmpl": {Data: []byte("{{.input.title}} {{.index}} {{.item}}")},
	}, "flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func itemJob(b *flow.Bundle, run RunID, generation, item int, input string) *job {
	return &job{
		payload: payload{Run: run, Generation: generation, Unit: runstate.Unit{Step: 0, Item: item}},
		step:    b.Flow().Steps[0],
		grant:   runstate.Grant{Input: []byte(input), Item: fmt.Appendf(nil, "%d", 10*item)},
	}
}

func prompt(t *testing.T, b *bindings, j *job) string {
	t.Helper()
	bound, err := b.of(j)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := bound.Prompt()
	if err != nil {
		t.Fatal(err)
	}
	return text.Reveal()
}

func TestItemsShareInputsWithinARunAndAGenerationAlone(t *testing.T) {
	bundle, b := eachBundle(t), &bindings{}
	one, other := newRunID("q", "f", "1"), newRunID("q", "f", "2")
	title := func(s string) string { return `{"title":"` + s + `","items":[]}` }
	for range 2 {
		for _, c := range []struct {
			run        RunID
			generation int
			item       int
			input      string
			want       string
		}{
			{one, 0, 0, title("a"), "a 0 0"},
			{one, 0, 1, title("a"), "a 1 10"},
			{other, 0, 1, title("b"), "b 1 10"},
			{one, 1, 1, title("c"), "c 1 10"}, // never so; but a wrong key would show
			{one, 0, 7, title("a"), "a 7 70"},
		} {
			if got := prompt(t, b, itemJob(bundle, c.run, c.generation, c.item, c.input)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		}
	}
}

// keeps says how many inputs are kept, and how many bytes of them.
func (b *bindings) keeps() (n, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.kept {
		bytes += one.bytes
	}
	if bytes != b.bytes {
		panic("bytes are miscounted")
	}
	return len(b.kept), bytes
}

func TestWhatIsSharedIsBounded(t *testing.T) {
	bundle := eachBundle(t)
	large := func(bytes int) string { return `{"title":"` + strings.Repeat("a", bytes-len(`{"title":""}`)) + `"}` }
	for name, c := range map[string]struct {
		bytes, n int // of each input, and how many are kept
	}{
		"many":      {100, bindingsKept},
		"large":     {bindingsBytes/4 + 1, 3},
		"too large": {bindingsBytes + 1, 1},
	} {
		b := &bindings{}
		for i := range 2 * bindingsKept {
			prompt(t, b, itemJob(bundle, newRunID("q", "f", fmt.Sprint(i)), 0, 0, large(c.bytes)))
		}
		if n, bytes := b.keeps(); n != c.n || bytes != c.n*c.bytes {
			t.Errorf("%s: %d inputs of %d bytes are kept", name, n, bytes)
		}
	}
}

func TestWhatIsUsedIsKeptBeforeWhatIsNot(t *testing.T) {
	bundle, b := eachBundle(t), &bindings{}
	used := itemJob(bundle, newRunID("q", "f", "used"), 0, 0, `{"title":"a"}`)
	prompt(t, b, used)
	first := b.find(bindingKey{used.Run, 0, 0})
	for i := range 10 * bindingsKept {
		prompt(t, b, itemJob(bundle, newRunID("q", "f", fmt.Sprint(i)), 0, 0, `{"title":"a"}`))
		if prompt(t, b, used); b.find(bindingKey{used.Run, 0, 0}) != first {
			t.Fatalf("it is decoded again after %d others", i+1)
		}
	}
}

// What customers own is not held for longer than it is worked on: not by a worker that has nothing to do either.
func TestWhatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bundle, b := eachBundle(t), &bindings{}
		work := func(run string) { prompt(t, b, itemJob(bundle, newRunID("q", "f", run), 0, 0, `{"title":"a"}`)) }
		for _, c := range []struct {
			run   string // empty: none
			after time.Duration
			want  int
		}{
			{"1", bindingsIdle - 2, 1},
			{"2", 1, 2},
			{"1", bindingsIdle - 2, 2},
			{"", 1, 1}, // 2 has not been used for long
			{"", 1, 0},
			{"", time.Hour, 0},
			{"3", bindingsIdle - 1, 1}, // and again
			{"", 1, 0},
		} {
			if c.run != "" {
				work(c.run)
			}
			time.Sleep(c.after)
			synctest.Wait()
			if n, _ := b.keeps(); n != c.want {
				t.Fatalf("%q, and %v later: %d inputs are kept, want %d", c.run, c.after, n, c.want)
			}
		}
	})
}

func TestItemsOfManyGoroutinesShareInputs(t *testing.T) {
	bundle, b := eachBundle(t), &bindings{}
	run := newRunID("q", "f", "1")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if got, want := prompt(t, b, itemJob(bundle, run, 0, i, `{"title":"a"}`)), fmt.Sprintf("a %d %d", i, 10*i); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	all.Wait()
	if n, _ := b.keeps(); n != 1 {
		t.Errorf("%d bindings of one step", n)
	}
}

func TestAnItemDoesNotDecodeTheInputAgain(t *testing.T) {
	bundle := eachBundle(t)
	work := func(input string) float64 {
		b, j := &bindings{}, itemJob(bundle, newRunID("q", "f", "1"), 0, 3, input)
		return testing.AllocsPerRun(20, func() { prompt(t, b, j) })
	}
	small := work(`{"title":"a","more":[]}`)
	large := work(`{"title":"a","more":[` + strings.Repeat(`{"n":1},`, 2000) + `{}]}`)
	if large > small+10 {
		t.Errorf("%v allocations an item with a large input, %v with a small one", large, small)
	}
}

func BenchmarkPromptOfAnItem(b *testing.B) {
	bundle := eachBundle(b)
	input := `{"title":"a","more":[` + strings.Repeat(`{"n":1,"text":"some words of a document"},`, 2500) + `{}]}`
	j := itemJob(bundle, newRunID("q", "f", "1"), 0, 3, input)
	for name, of := range map[string]func() (*flow.Bound, error){
		"shared": func() func() (*flow.Bound, error) {
			s := &bindings{}
			return func() (*flow.Bound, error) { return s.of(j) }
		}(),
		"anew": func() (*flow.Bound, error) { return j.step.Bind(j.inputs()) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				bound, err := of()
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := bound.Prompt(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
