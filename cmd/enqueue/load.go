package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"fourfold/content"
	"fourfold/flow"
)

// readInput reads one JSON value from a file, or from standard input for "-".
func readInput(path string, stdin io.Reader) (content.Of[json.RawMessage], error) {
	var none content.Of[json.RawMessage]
	var data []byte
	var err error
	if path == "-" {
		path = "standard input"
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return none, err
	}
	value, err := oneValue(data)
	if err != nil {
		return none, fmt.Errorf("%s%w", path, err)
	}
	return content.New(value), nil
}

// notOneValue says where an input stops being one JSON value. It quotes nothing of it.
type notOneValue struct{ line, column int }

func (e *notOneValue) Error() string {
	return fmt.Sprintf(":%d:%d: not one JSON value", e.line, e.column)
}

// oneValue returns data without the space around it, when it is exactly one JSON value in UTF-8. The error is a *notOneValue.
func oneValue(data []byte) (json.RawMessage, error) {
	if line, column, bad := flow.FirstBadByte(data); bad {
		return nil, &notOneValue{line, column}
	}
	value := json.RawMessage(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	if json.Valid(value) {
		return value, nil
	}
	at := len(data)
	var syntax *json.SyntaxError
	var whole json.RawMessage
	if errors.As(json.Unmarshal(data, &whole), &syntax) {
		at = min(at, max(0, int(syntax.Offset)-1))
	}
	before := data[:at]
	return nil, &notOneValue{bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1}
}
