package flow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// flowOf writes a flow of handlers with the given needs, by place in the file.
func flowOf(needs [][]int) string {
	var b strings.Builder
	for i, parents := range needs {
		var ids []string
		for _, p := range parents {
			ids = append(ids, fmt.Sprintf("s%d", p))
		}
		fmt.Fprintf(&b, "  - id: s%d\n    handler: h\n    needs: [%s]\n", i, strings.Join(ids, ", "))
	}
	return b.String()
}

// For any graph without cycles, in any order in the file: parents come first, and among the steps that could come
// next the first in the file does.
func TestStepsAreInTopologicalOrderWithTiesInFileOrder(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		n := 1 + random.IntN(9)
		rank := random.Perm(n) // a hidden order that the edges follow
		needs := make([][]int, n)
		for i := range needs {
			for _, j := range random.Perm(n) {
				if rank[j] < rank[i] && random.IntN(3) == 0 {
					needs[i] = append(needs[i], j)
				}
			}
		}
		f := bundleOf(t, flowOf(needs), nil).Flow()
		if got, want := idsOf(f), orderBySearch(needs); !slices.Equal(got, want) {
			t.Fatalf("seed %d, needs %v: got %v, want %v", seed, needs, got, want)
		}
		for i, s := range f.Steps {
			if s.Index != i {
				t.Errorf("seed %d: step %s at %d has the index %d", seed, s.ID, i, s.Index)
			}
			for _, e := range s.Needs {
				parent := f.Steps[e.Index]
				if e.Index >= i || parent.ID != e.Step || !slices.Contains(parent.Children, Edge{s.ID, i, e.Mode}) {
					t.Errorf("seed %d: edge %v of step %d is not matched", seed, e, i)
				}
			}
			for _, e := range s.Children {
				if child := f.Steps[e.Index]; e.Index <= i || child.ID != e.Step || !slices.Contains(child.Needs, Edge{s.ID, i, e.Mode}) {
					t.Errorf("seed %d: child %v of step %d is not matched", seed, e, i)
				}
			}
		}
	}
}

func idsOf(f *Flow) []string {
	var ids []string
	for _, s := range f.Steps {
		ids = append(ids, s.ID.String())
	}
	return ids
}

// orderBySearch is the order by its definition: again and again the first step of the file whose parents are out.
func orderBySearch(needs [][]int) []string {
	var order []string
	out := make([]bool, len(needs))
	for range needs {
		for i, parents := range needs {
			if !out[i] && !slices.ContainsFunc(parents, func(p int) bool { return !out[p] }) {
				out[i] = true
				order = append(order, fmt.Sprintf("s%d", i))
				break
			}
		}
	}
	return order
}

// For any graph at all: it loads exactly when it has no cycle, and each cycle that is named is one.
func TestEveryKnotIsNamedByOneOfItsCycles(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		n := 1 + random.IntN(8)
		g := graph{make([][]int, n), make([][]int, n)}
		for i := range n {
			for j := range n {
				if random.IntN(6) == 0 {
					g.parents[i] = append(g.parents[i], j)
					g.children[j] = append(g.children[j], i)
				}
			}
		}
		knotted := map[int]bool{} // steps that reach themselves
		for i := range n {
			for _, p := range g.parents[i] {
				knotted[i] = knotted[i] || g.reaches(p, i)
			}
		}
		cycles := g.cycles()
		if (len(g.order()) == n) != (len(cycles) == 0) {
			t.Fatalf("seed %d: %d of %d steps in order, cycles %v", seed, len(g.order()), n, cycles)
		}
		for _, cycle := range cycles {
			for k, i := range cycle {
				if next := cycle[(k+1)%len(cycle)]; !slices.Contains(g.parents[i], next) {
					t.Fatalf("seed %d: %v is no cycle of %v", seed, cycle, g.parents)
				}
				if i < cycle[0] {
					t.Errorf("seed %d: %v does not begin with the first in the file", seed, cycle)
				}
			}
		}
		for i := range knotted {
			if knotted[i] && !slices.ContainsFunc(cycles, func(c []int) bool { return g.reaches(i, c[0]) && g.reaches(c[0], i) }) {
				t.Errorf("seed %d: the knot of step %d is not named", seed, i)
			}
		}
	}
}

func TestAStepIsAbsorbableWhenNobodyRequiresItAndSomebodyTakesItAsOptional(t *testing.T) {
	for children, want := range map[string]bool{
		"":                         false,
		"require":                  false,
		"optional":                 true,
		"always":                   false,
		"optional optional":        true,
		"optional always":          true,
		"always always":            false,
		"optional require":         false,
		"always require":           false,
		"optional always optional": true,
		"optional always require":  false,
	} {
		steps := "  - id: parent\n    handler: h\n"
		for i, mode := range strings.Fields(children) {
			steps += fmt.Sprintf("  - id: child%d\n    handler: h\n    needs: [{step: parent, mode: %s}]\n", i, mode)
		}
		parent := bundleOf(t, steps, nil).Flow().Steps[0]
		if got := parent.Absorbable(); got != want {
			t.Errorf("children %q: got %v, want %v", children, got, want)
		}
		if got := parent.Sink(); got != (children == "") {
			t.Errorf("children %q: sink %v", children, got)
		}
	}
}

func TestALargeFlowLoads(t *testing.T) {
	needs := make([][]int, maxSteps)
	for i := 1; i < maxSteps; i++ {
		needs[i] = []int{i - 1}
	}
	if f := bundleOf(t, flowOf(needs), nil).Flow(); len(f.Steps) != maxSteps {
		t.Errorf("got %d steps", len(f.Steps))
	}
	_, err := tryBundle(flowOf(make([][]int, maxSteps+1)), nil)
	if err == nil || !strings.HasSuffix(err.Error(), "more than 1000 steps") {
		t.Errorf("one step more: got %v", err)
	}
}
