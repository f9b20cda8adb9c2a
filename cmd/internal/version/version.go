// Package version says which build this is.
package version

import "runtime/debug"

// release is set by the linker: -ldflags "-X fourfold/cmd/internal/version.release=v1.2.3".
var release string

// String is the release, or the revision that the binary was built from, or "development".
func String() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "development"
	}
	var revision, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "-modified"
			}
		}
	}
	if revision == "" {
		return "development"
	}
	return revision + modified
}
