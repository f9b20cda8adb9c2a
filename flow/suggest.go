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

// distance is Levenshtein's edit distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitution := diagonal
			if a[i] != b[j] {
				substitution++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitution, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
