package flow

import (
	"container/heap"
	"slices"
	"strings"
)

// graph is who needs whom, by place in the flow file.
type graph struct {
	parents, children [][]int
}

// order sorts the steps so that parents come before children; among those that could come next, the one that
// stands first in the file does. It leaves out the steps that lie on a cycle or behind one.
func (g graph) order() []int {
	waiting := make([]int, len(g.parents))
	var ready minHeap
	for i, parents := range g.parents {
		if waiting[i] = len(parents); waiting[i] == 0 {
			heap.Push(&ready, i)
		}
	}
	var order []int
	for ready.Len() > 0 {
		i := heap.Pop(&ready).(int)
		order = append(order, i)
		for _, child := range g.children[i] {
			if waiting[child]--; waiting[child] == 0 {
				heap.Push(&ready, child)
			}
		}
	}
	return order
}

// cycles returns one cycle for each knot of steps that need each other, each beginning with the step that stands
// first in the file, followed by the step that it needs, and so on.
func (g graph) cycles() [][]int {
	var found [][]int
	done := make([]bool, len(g.parents)) // known to lie on no further cycle
	for start := range g.parents {
		if done[start] {
			continue
		}
		path := g.pathBack(start)
		if path == nil {
			done[start] = true
			continue
		}
		found = append(found, path)
		for i := range g.parents { // the rest of the knot is the same problem
			if g.reaches(start, i) && g.reaches(i, start) {
				done[i] = true
			}
		}
	}
	return found
}

// pathBack returns a shortest way from a step over its parents back to itself, or nil.
func (g graph) pathBack(start int) []int {
	from := map[int]int{} // child by parent
	queue := []int{start}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, parent := range g.parents[i] {
			if parent == start {
				path := []int{i}
				for i != start {
					i = from[i]
					path = append(path, i)
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := from[parent]; !seen {
				from[parent] = i
				queue = append(queue, parent)
			}
		}
	}
	return nil
}

func (g graph) reaches(from, to int) bool {
	seen := map[int]bool{from: true}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			return true
		}
		for _, parent := range g.parents[queue[0]] {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return false
}

// pathText names the steps of a cycle: a → b → a.
func pathText(steps []*stepSpec, cycle []int) string {
	var b strings.Builder
	for _, i := range cycle {
		b.WriteString(steps[i].id.value + " → ")
	}
	return b.String() + steps[cycle[0]].id.value
}

// minHeap gives out the smallest place first.
type minHeap []int

func (h minHeap) Len() int           { return len(h) }
func (h minHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h minHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *minHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *minHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
