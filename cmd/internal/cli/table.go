package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fourfold/executor"
	"fourfold/tasks"
)

// Width is how many columns of a terminal a table or a line for people may take.
const Width = 100

// leastCut is what is left at least of a cell that is cut.
const leastCut = 6

// Table prints rows in columns. Cells are plain text; columns in which every cell is a number stand to the right.
type Table struct {
	Header []string
	Rows   [][]string
	Cut    []int                                // columns whose cells may be cut to fit Width, the widest first; the others are whole
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
	t.fit(width, utf8.RuneCountInString(indent))
	t.row(w, indent, t.Header, width, numeric, false)
	for _, row := range t.Rows {
		t.row(w, indent, row, width, numeric, true)
	}
}

// fit makes columns that may be cut narrower, until the table fits or no column can give more.
func (t Table) fit(width []int, indent int) {
	total := indent + 2*(len(width)-1)
	for _, n := range width {
		total += n
	}
	for ; total > Width; total-- {
		widest := -1
		for _, c := range t.Cut {
			if width[c] > leastCut && (widest < 0 || width[c] > width[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			return
		}
		width[widest]--
	}
}

// cut shortens a cell to a width, and shows that it did.
func cut(cell string, width int) string {
	if utf8.RuneCountInString(cell) <= width {
		return cell
	}
	return string([]rune(cell)[:width-1]) + "…"
}

func (t Table) row(w io.Writer, indent string, cells []string, width []int, numeric []bool, colour bool) {
	var line strings.Builder
	line.WriteString(indent)
	for c, cell := range cells {
		if c > 0 {
			line.WriteString("  ")
		}
		cell = cut(cell, width[c])
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

// CountsHeading stands above the cells that Counts makes: OK, DEGRADED, ABSTAINED, FAILED, skipped.
const CountsHeading = "OK·D·A·F·S"

// Counts is how many steps ended how, in the order of CountsHeading.
func Counts(c tasks.Counts) string {
	return fmt.Sprintf("%d·%d·%d·%d·%d", c.OK, c.Degraded, c.Abstained, c.Failed, c.Skipped)
}

// Wrap breaks a line that is wider than Width after one of the marks in marks, where it can; what follows is indented.
func Wrap(line, marks, indent string) string {
	var b strings.Builder
	runes := []rune(line)
	room := Width
	for len(runes) > room {
		at := room
		for at > 1 && !strings.ContainsRune(marks, runes[at-1]) {
			at--
		}
		if at == 1 {
			at = room
		}
		b.WriteString(string(runes[:at]) + "\n" + indent)
		runes = runes[at:]
		room = Width - utf8.RuneCountInString(indent)
	}
	return b.String() + string(runes)
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
