package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"fourfold/executor"
	"fourfold/tasks"
)

// Width is how many columns a table or a line for people may take where the terminal does not say.
const Width = 100

// leastCut is what is left at least of a cell that is cut.
const leastCut = 6

// Table prints rows in columns. Cells are plain text; columns in which every cell is a number stand to the right.
type Table struct {
	Header []string
	Rows   [][]string
	Cut    []int                                // columns whose cells may be cut to fit, the widest first; the others are whole
	Drop   []int                                // columns that are left out, in this order, while it does not fit for all that
	Width  int                                  // to fit; zero: Width
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

// dropped is the width of a column that is left out.
const dropped = -2 // with the space before it, it takes nothing

// fit makes the table fit, or as narrow as it gets: by cutting cells as far as they may be cut, and before they get shorter
// than that, by leaving out columns.
func (t Table) fit(width []int, indent int) {
	room := t.Width
	if room <= 0 {
		room = Width
	}
	least := func() int {
		total := indent - 2
		for c, n := range width {
			if slices.Contains(t.Cut, c) {
				n = min(n, leastCut)
			}
			total += n + 2
		}
		return total
	}
	for _, c := range t.Drop {
		if least() <= room {
			break
		}
		width[c] = dropped
	}
	total := indent - 2
	for _, n := range width {
		total += n + 2
	}
	for ; total > room; total-- {
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

// cut shortens a cell to a width, and shows where it did: in the middle, since names differ at their ends.
func cut(cell string, width int) string {
	runes := []rune(cell)
	if len(runes) <= width {
		return cell
	}
	tail := (width - 1) / 3
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

func (t Table) row(w io.Writer, indent string, cells []string, width []int, numeric []bool, colour bool) {
	var line strings.Builder
	line.WriteString(indent)
	first := true
	for c, cell := range cells {
		if width[c] == dropped {
			continue
		}
		if !first {
			line.WriteString("  ")
		}
		first = false
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
		b.WriteString(strings.TrimRight(string(runes[:at]), " ") + "\n" + indent)
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
