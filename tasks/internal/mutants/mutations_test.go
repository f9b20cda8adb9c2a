package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Trying the mutations takes long. That each still has its one place in the code is known at once.
func TestEveryMutationHasOnePlace(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutations {
		if seen[m.name] {
			t.Errorf("%s: there are two of this name", m.name)
		}
		seen[m.name] = true
		for _, c := range m.changes {
			whole, err := os.ReadFile(filepath.Join("..", "..", "..", c.file))
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				continue
			}
			if n := strings.Count(string(whole), c.old); n != 1 || c.old == c.put {
				t.Errorf("%s: %d places in %s have the text that is to be changed", m.name, n, c.file)
			}
		}
	}
}
