package config

import "strings"

// suggestion is ": did you mean X?" when one of the known words is a slip away, and empty otherwise.
func suggestion(word string, known []string) string {
	best, distance := "", 1+min(3, 1+len(word)/3)
	for _, k := range known {
		if n := editDistance(strings.ToLower(word), k); n < distance {
			best, distance = k, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// editDistance is Levenshtein's, over bytes: configuration words are ASCII.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
