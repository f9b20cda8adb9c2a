package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing wrong with a bundle, told to the flow's author. Message may quote the bundle's files.
type Problem struct {
	File    string // as it was opened: the flow file's folder, then the name that the flow gives
	Line    int    // from 1; 0: the whole file
	Column  int    // from 1, in characters; 0: the whole line
	Message string
}

// String is file:line:column: message, without the numbers that are not known.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	for _, n := range []int{p.Line, p.Column} {
		if n == 0 {
			break
		}
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteString(": ")
	b.WriteString(p.Message)
	return b.String()
}

// Problems is every problem found in a bundle: those of the flow file first, then those of the other files in
// the order in which the flow names them, each by line and column. It is an error whose text has one line per
// problem.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// position is a place in a file, both numbers from 1. The zero value is the whole file.
type position struct{ line, column int }

// findings collects problems and puts them in file order.
type findings struct {
	dir  string         // put before every file name
	rank map[string]int // files by first mention
	list Problems
}

func (f *findings) add(file string, at position, format string, args ...any) {
	f.mention(file)
	f.list = append(f.list, Problem{File: file, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)})
}

// mention fixes the place of a file in the order of problems.
func (f *findings) mention(file string) {
	if f.rank == nil {
		f.rank = map[string]int{}
	}
	if _, ok := f.rank[file]; !ok {
		f.rank[file] = len(f.rank)
	}
}

// problems returns what was found in order, each once (a file that two steps use is checked twice).
func (f *findings) problems() Problems {
	slices.SortStableFunc(f.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(f.rank[a.File], f.rank[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	list := slices.Compact(f.list)
	for i := range list {
		if f.dir != "." {
			list[i].File = f.dir + "/" + list[i].File
		}
	}
	return list
}

// list renders names for a message, or the given word when there are none.
func list(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
