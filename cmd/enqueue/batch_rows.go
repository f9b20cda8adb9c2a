package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"fourfold/executor"
	"fourfold/tasks"
)

// row is what became of one line.
type row struct {
	item    item
	run     tasks.RunID
	outcome executor.Outcome
	status  []byte // the status document; nil: nobody waited
	problem string // instead of a run
	before  bool   // the run was submitted before
}

// encode is the row as one line of JSON: line and key before what the status document says.
func (r row) encode() ([]byte, error) {
	head, err := json.Marshal(struct {
		Line  int    `json:"line"`
		Key   string `json:"key,omitempty"`
		Error string `json:"error,omitempty"`
	}{r.item.line, r.item.key, r.problem})
	if err != nil {
		return nil, err
	}
	if r.problem != "" {
		return append(head, '\n'), nil
	}
	line := head[:len(head)-1] // what follows stands in the same object
	if r.status == nil {
		return fmt.Appendf(line, ",\"run\":%q,\"state\":\"open\"}\n", r.run.String()), nil
	}
	return fmt.Appendf(line, ",%s\n", bytes.TrimPrefix(bytes.TrimSpace(r.status), []byte("{"))), nil
}

// resume opens a results file for appending. Rows that are there are matched with the inputs, which are read past them, and
// counted; a row that was cut in the middle is removed.
func resume(path string, in *lines, t *tally) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	good, err := matchRows(f, path, in, t)
	if err == nil {
		err = f.Truncate(good)
	}
	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// matchRows returns how many bytes of the file are whole rows of these inputs.
func matchRows(f io.Reader, path string, in *lines, t *tally) (int64, error) {
	r := bufio.NewReaderSize(f, 1<<16)
	var good int64
	for n := 1; ; n++ {
		data, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil // without its newline it was cut
		}
		if err != nil {
			return 0, err
		}
		var old struct {
			Key     string `json:"key"`
			Outcome string `json:"outcome"`
			Error   string `json:"error"`
		}
		if json.Unmarshal(data, &old) != nil {
			return 0, fmt.Errorf("%s:%d: not a row that this command wrote", path, n)
		}
		it, err := in.next()
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("%s:%d: more rows than there are inputs", path, n)
		}
		if err != nil {
			return 0, err
		}
		if it.key != old.Key {
			return 0, fmt.Errorf("%s:%d: belongs to another input than line %d; name another file, or remove this one", path, n, it.line)
		}
		outcome := executor.OutcomeNone
		if old.Outcome != "" {
			if outcome, err = executor.ParseOutcome(old.Outcome); err != nil {
				return 0, fmt.Errorf("%s:%d: not a row that this command wrote", path, n)
			}
		}
		t.add(outcome, old.Error != "", true)
		good += int64(len(data))
	}
}
