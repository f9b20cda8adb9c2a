package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fourfold/content"
	"fourfold/flow"
)

// item is one line of the inputs.
type item struct {
	line  int // in the file, from 1
	key   string
	input content.Of[json.RawMessage]
	err   error // content-free: the line is no input
}

// lines reads items one by one; blank lines are none.
type lines struct {
	r    *bufio.Reader
	name string
	keys keyMaker
	line int
}

func newLines(r io.Reader, name string, keys keyMaker) *lines {
	return &lines{r: bufio.NewReaderSize(r, 1<<16), name: name, keys: keys}
}

// next returns the next item, or io.EOF.
func (l *lines) next() (item, error) {
	for {
		data, err := l.r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return item{}, fmt.Errorf("%s: %w", l.name, err)
		}
		l.line++
		if len(bytes.TrimSpace(data)) > 0 {
			return l.item(data), nil
		}
		if err == io.EOF {
			return item{}, io.EOF
		}
	}
}

func (l *lines) item(data []byte) item {
	it := item{line: l.line}
	value, err := oneValue(data)
	if bad, ok := errors.AsType[*notOneValue](err); ok {
		it.err = fmt.Errorf("column %d: not one JSON value", bad.column)
		return it
	}
	it.input = content.New(value)
	it.key, it.err = l.keys.of(value)
	return it
}

// keyMaker gives each line its key.
type keyMaker struct {
	field  string // dotted path; empty: a hash
	bundle flow.SHA
}

// of returns the field's text, or a hash of the bundle and the line. The hash holds the line alone and not its number, so
// that lines may be added and sorted without being paid for again; it holds the bundle, so that a changed flow makes new runs.
func (k keyMaker) of(value json.RawMessage) (string, error) {
	if k.field == "" {
		h := sha256.New()
		h.Write(k.bundle[:])
		h.Write(value)
		return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
	}
	for name := range strings.SplitSeq(k.field, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil || object[name] == nil {
			return "", fmt.Errorf("has no field %s", k.field)
		}
		value = object[name]
	}
	var text string
	if json.Unmarshal(value, &text) == nil && text != "" {
		return text, nil
	}
	var number json.Number
	if json.Unmarshal(value, &number) == nil && number != "" {
		return number.String(), nil
	}
	return "", fmt.Errorf("field %s is no text and no number", k.field)
}

// maxLineProblems is how many bad lines are named before "and more".
const maxLineProblems = 20

// checkInputs reads the whole file and returns how many items it has. The error is a flow.Problems.
func checkInputs(path string, keys keyMaker) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := newLines(f, path, keys)
	var problems flow.Problems
	for n := 0; ; n++ {
		it, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && len(problems) > 0:
			return 0, problems
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return 0, err
		case it.err != nil && len(problems) < maxLineProblems:
			problems = append(problems, flow.Problem{File: path, Line: it.line, Column: 1, Message: it.err.Error()})
		}
	}
}
