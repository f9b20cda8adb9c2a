package tasks

import (
	"sync"

	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

// shapesKept is how many bundles' shapes a producer holds.
const shapesKept = 256

// shapes prepares the runs of each bundle once. The zero shapes is ready.
type shapes struct {
	mu   sync.Mutex
	held map[flow.SHA]*runstate.Shape
}

func (s *shapes) of(b *flow.Bundle) *runstate.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shape := s.held[b.SHA()]; shape != nil {
		return shape
	}
	if s.held == nil || len(s.held) >= shapesKept {
		s.held = map[flow.SHA]*runstate.Shape{}
	}
	sha := b.SHA()
	shape := runstate.ShapeOf(b.Flow().Name, sha[:], graphOf(b.Flow()))
	s.held[sha] = shape
	return shape
}

func graphOf(f *flow.Flow) []runstate.Node {
	graph := make([]runstate.Node, len(f.Steps))
	for i, s := range f.Steps {
		graph[i] = runstate.Node{
			ID: s.ID.String(), Parents: edgesOf(s.Needs), Children: edgesOf(s.Children), Absorbable: s.Absorbable(),
			DegradeItems: s.ForEach != nil && s.ForEach.DegradeFailed,
		}
	}
	return graph
}

func edgesOf(edges []flow.Edge) []runstate.Edge {
	out := make([]runstate.Edge, len(edges))
	for i, e := range edges {
		out[i] = runstate.Edge{Step: e.Index, Mode: "roa"[e.Mode]}
	}
	return out
}
