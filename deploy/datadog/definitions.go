package datadog

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed dashboard.json monitors slos
var files embed.FS

// Kind is what a definition defines.
type Kind string

// The kinds, in the order of installation: monitors name objectives.
const (
	SLO       Kind = "slo"
	Monitor   Kind = "monitor"
	Dashboard Kind = "dashboard"
)

// Definition is one thing to be installed.
type Definition struct {
	Kind Kind
	ID   string // the file's name; installed monitors and objectives carry it as the tag fourfold-id
	Path string // of the file
	JSON []byte
}

// Tag marks the installed thing, so that it is found again.
func (d Definition) Tag() string { return "fourfold-id:" + d.ID }

var envName = regexp.MustCompile(`^[a-z][a-z0-9_./-]{0,199}$`)

// Definitions returns everything that is to be installed for an environment, in order. The files are written for prod;
// for another one its name takes prod's place in names, tags and queries. The dashboard is the same for all.
func Definitions(env string) ([]Definition, error) {
	if !envName.MatchString(env) {
		return nil, fmt.Errorf("%q is no name of an environment", env)
	}
	var all []Definition
	for _, set := range []struct {
		kind    Kind
		pattern string
	}{{SLO, "slos/*.json"}, {Monitor, "monitors/*.json"}, {Dashboard, "dashboard.json"}} {
		paths, err := fs.Glob(files, set.pattern)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			text, err := files.ReadFile(p)
			if err != nil {
				return nil, err
			}
			text = bytes.ReplaceAll(text, []byte("env:prod"), []byte("env:"+env))
			text = bytes.ReplaceAll(text, []byte("[Fourfold prod]"), []byte("[Fourfold "+env+"]"))
			all = append(all, Definition{set.kind, strings.TrimSuffix(path.Base(p), ".json"), p, text})
		}
	}
	return all, nil
}
