package runstate

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Shape is what all runs of one bundle have in common, as Redis holds it. It never changes, and is for any number of runs.
type Shape struct {
	BundleSHA string // hex
	Roots     []int  // the steps that can begin at once, ascending
	head      string // the bundle's SHA as a run has it
	steps     int
	fields    []any // of a new run, each name followed by its value
}

// ShapeOf prepares the runs of a flow, from a bundle with this SHA.
func ShapeOf(flow string, sha []byte, graph []Node) *Shape {
	steps := strconv.Itoa(len(graph))
	s := &Shape{
		BundleSHA: hex.EncodeToString(sha), head: packHead(sha), steps: len(graph),
		fields: []any{"r", "o|1|" + steps + "|0|0|0|0|0|0|", "f", flow},
	}
	for i, node := range graph {
		step := strconv.Itoa(i)
		s.fields = append(s.fields, "g"+step, node.encode())
		if len(node.Parents) == 0 {
			s.Roots = append(s.Roots, i)
		} else {
			s.fields = append(s.fields, "s"+step, "w|"+strconv.Itoa(len(node.Parents))+"|")
		}
	}
	return s
}

// Node is one step of the graph of a run.
type Node struct {
	ID         string
	Parents    []Edge
	Children   []Edge
	Absorbable bool // its failure counts as DEGRADED for the run
	// DegradeItems: a FAILED item of this for_each step counts as DEGRADED with the value null.
	DegradeItems bool
}

// Edge names the other end of an edge by its topological index; Mode is 'r', 'o' or 'a'.
type Edge struct {
	Step int
	Mode byte
}

func (n Node) encode() string {
	var b strings.Builder
	b.WriteString(n.ID)
	b.WriteByte('|')
	if n.Absorbable {
		b.WriteByte('a')
	}
	if n.DegradeItems {
		b.WriteByte('n')
	}
	for _, p := range n.Parents {
		if p.Mode == 'a' {
			b.WriteByte('v')
			break
		}
	}
	edges := func(es []Edge) {
		b.WriteByte('|')
		for _, e := range es {
			b.WriteString(strconv.Itoa(e.Step))
			b.WriteByte(e.Mode)
		}
	}
	edges(n.Parents)
	edges(n.Children)
	return b.String()
}
