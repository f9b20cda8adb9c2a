package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fourfold/executor"
)

// Table prints rows in columns. Cells are plain text; columns in which every cell is a number stand to the right.
type Table struct {
	Header []string
	Rows   [][]string
	Colour func(column int, cell string) string // an ANSI prefix for the cell, or empty; nil: no colour
}

// Write prints the table, indented by indent.
func (t Table) Write(w io.Writer, indent string) {
	width := make([]int, len(t.Header))
	numeric := make([]bool, len(t.Header))
	for c, h := range t.Header {
		width[c], numeric[c] = utf8.RuneCountInString(h), true
		for _, row := range t.Rows {
			width[c] = max(width[c], utf8.RuneCountInString(row[c]))
			numeric[c] = numeric[c] && isNumber(row[c])
		}
	}
	t.row(w, indent, t.Header, width, numeric, false)
	for _, row := range t.Rows {
		t.row(w, indent, row, width, numeric, true)
	}
}

func (t Table) row(w io.Writer, indent string, cells []string, width []int, numeric []bool, colour bool) {
	var line strings.Builder
	line.WriteString(indent)
	for c, cell := range cells {
		if c > 0 {
			line.WriteString("  ")
		}
		pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
		text := cell
		if colour && t.Colour != nil {
			if prefix := t.Colour(c, cell); prefix != "" {
				text = prefix + cell + "\x1b[0m"
			}
		}
		if numeric[c] {
			line.WriteString(pad + text)
		} else {
			line.WriteString(text + pad)
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}

func isNumber(s string) bool {
	return s == "-" || s == "" || strings.Trim(s, "0123456789.,") == ""
}

// OutcomeColour is for Table.Colour: green, yellow, grey and red where Streams.Colour says so, else nil.
func OutcomeColour(s Streams) func(int, string) string {
	if !s.Colour {
		return nil
	}
	colours := map[string]string{
		executor.OutcomeOK.String():        "\x1b[32m",
		executor.OutcomeDegraded.String():  "\x1b[33m",
		executor.OutcomeAbstained.String(): "\x1b[90m",
		executor.OutcomeFailed.String():    "\x1b[31m",
	}
	return func(_ int, cell string) string { return colours[cell] }
}
