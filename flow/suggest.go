package flow

import (
	"fmt"
	"strings"
)

// Suggest completes a message about a word that is not known: it returns `; did you mean "x"?` for the nearest of the known
// words, whatever its case, or nothing when none is near. Flow files and worker.yaml speak alike through it.
func Suggest(word string, known []string) string {
	best, nearest := "", min(3, max(1, len(word)/3))+1
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if extends(word, k) || extends(k, word) {
			d = min(d, 1) // warning and warn
		}
		if d < nearest && d < len(word) {
			best, nearest = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// extends says whether a word is another one, of some length, with more behind it.
func extends(long, short string) bool { return len(short) > 2 && strings.HasPrefix(long, short) }

// distance is how many slips lead from a to b: a byte too many, one too few, another one, or two neighbours swapped.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			another := last[j]
			if a[i] != b[j] {
				another++
			}
			row[j+1] = min(another, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
