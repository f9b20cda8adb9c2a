// Package flowfile reads flow files from disk.
package flowfile

import (
	"errors"
	"os"
	"path/filepath"

	"fourfold/flow"
)

// Load reads the flow file at path and every file it names. A flow.Problems names files as they are seen from the working
// directory.
func Load(path string) (*flow.Bundle, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if dir == "" {
		dir = "."
	}
	b, err := flow.Load(os.DirFS(dir), base)
	if ps, ok := errors.AsType[flow.Problems](err); ok {
		for i := range ps {
			ps[i].File = filepath.Join(dir, ps[i].File)
		}
		return nil, ps
	}
	return b, err
}
