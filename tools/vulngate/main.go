// Command vulngate reads govulncheck's JSON from standard input and fails on each vulnerability that the code can reach and
// that the list of accepted ones does not explain: vulngate LIST. A line of the list is an id and a reason.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: govulncheck -format json … | vulngate LIST")
		os.Exit(2)
	}
	list, err := os.Open(os.Args[1])
	if err == nil {
		err = run(list, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulngate:", err)
		os.Exit(1)
	}
}

// A finding is a vulnerability that the code reaches.
type finding struct {
	id      string
	symbol  string // where it is
	fixedIn string
}

// run says on out what was found. An error: something is found that is not accepted, or an input cannot be read.
func run(list, report io.Reader, out io.Writer) error {
	accepted, err := readList(list)
	if err != nil {
		return err
	}
	found, err := readReport(report)
	if err != nil {
		return err
	}
	fresh := 0
	for _, id := range slices.Sorted(maps.Keys(found)) {
		f := found[id]
		if reason, ok := accepted[id]; ok {
			fmt.Fprintf(out, "accepted  %s  %s (fixed in %s): %s\n", id, f.symbol, f.fixedIn, reason)
			continue
		}
		fresh++
		fmt.Fprintf(out, "NEW       %s  %s (fixed in %s)\n", id, f.symbol, f.fixedIn)
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		if _, ok := found[id]; !ok {
			fmt.Fprintf(out, "gone      %s: no longer found with this Go; it can leave the list when no supported Go has it\n", id)
		}
	}
	if fresh > 0 {
		return fmt.Errorf("%d vulnerabilities that nobody has accepted", fresh)
	}
	fmt.Fprintf(out, "vulngate: %d accepted, none new\n", len(found))
	return nil
}

// readList returns the accepted ids with their reasons. Empty lines and those that begin with # say nothing.
func readList(r io.Reader) (map[string]string, error) {
	accepted := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); !strings.HasPrefix(id, "GO-") || reason == "" {
			return nil, fmt.Errorf("%q: want an id and a reason", line)
		}
		accepted[id] = reason
	}
	return accepted, lines.Err()
}

// readReport returns the findings whose trace ends in a function: those that the code can reach. A report without
// govulncheck's opening message is no report: an empty one must not pass.
func readReport(r io.Reader) (map[string]finding, error) {
	found := map[string]finding{}
	begun := false
	dec := json.NewDecoder(r)
	for {
		var message struct {
			Config  *struct{} `json:"config"`
			Finding *struct {
				OSV          string `json:"osv"`
				FixedVersion string `json:"fixed_version"`
				Trace        []struct {
					Module   string `json:"module"`
					Package  string `json:"package"`
					Function string `json:"function"`
				} `json:"trace"`
			} `json:"finding"`
		}
		err := dec.Decode(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("govulncheck's report: %w", err)
		}
		begun = begun || message.Config != nil
		if f := message.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			found[f.OSV] = finding{f.OSV, f.Trace[0].Package + "." + f.Trace[0].Function, f.FixedVersion}
		}
	}
	if !begun {
		return nil, errors.New("govulncheck reported nothing: see its own words above")
	}
	return found, nil
}
