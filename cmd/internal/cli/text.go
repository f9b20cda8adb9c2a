package cli

import (
	"fmt"
	"slices"
	"strings"
)

// packages are whose names stand before their errors' texts: a help to programmers, and a riddle to everybody else.
var packages = []string{
	"anthropic", "content", "doorbell", "executor", "flow", "gemini", "openai", "provider", "runstate", "simulated", "tasks", "traces",
}

// Text is the error's text for people: without the names of the packages that it and the errors it wraps came from.
// The nil error has none.
func Text(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, e := range tree(err) {
		whole := e.Error()
		if name, rest, found := strings.Cut(whole, ": "); found && slices.Contains(packages, name) {
			text = strings.Replace(text, whole, rest, 1)
		}
	}
	return text
}

// tree is the error and all that it wraps, the outer ones first: a text out of which an inner one was cut would not be found again.
func tree(err error) []error {
	var inner []error
	switch e := err.(type) { //nolint:errorlint // this walks the tree itself
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			inner = tree(next)
		}
	case interface{ Unwrap() []error }:
		for _, next := range e.Unwrap() {
			inner = append(inner, tree(next)...)
		}
	}
	return append([]error{err}, inner...)
}

// Count is a number of things: "1 step", "2 steps". The thing is a word that takes an s.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
