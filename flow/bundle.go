package flow

import (
	"crypto/sha256"
	"io/fs"
	"path"

	"fourfold/executor"
)

// SHA addresses a bundle: the SHA-256 of its encoding. It is the prompt_bundle_sha of envelopes.
type SHA = executor.PromptSHA

// Bundle is a flow with every file that it names. It is not changed after Load or Decode: any number of goroutines
// may use it.
type Bundle struct {
	encoded []byte
	sha     SHA
	flow    *Flow
}

// Load reads and checks the flow file at path, and every file that it names, relative to the flow file's folder.
// Nothing outside that folder is read: names that lead out of it are problems, and so are symbolic links that do,
// where fsys can tell (the file systems of package os can). The error is Problems: all of them, not the first.
func Load(fsys fs.FS, name string) (*Bundle, error) {
	dir, base := path.Split(path.Clean(name))
	dir = path.Clean(dir)
	found := &findings{dir: dir}
	if !fs.ValidPath(path.Clean(name)) || base == "." {
		return nil, Problems{{File: name, Message: "is no name of a file in the file system"}}
	}
	data, err := readFile(fsys, path.Join(dir, base))
	if err == nil && len(data) > maxFlowFile {
		err = errFlowFileSize
	}
	if err != nil {
		found.add(base, position{}, "%v", err)
		return nil, found.problems()
	}
	return assemble(base, data, fromFS(fsys, dir), found)
}

// assemble checks a flow file and makes the bundle of the files that the check has read. Bundles come from
// strangers, and pass through parsers that are not ours: a panic in one of them is a problem of the bundle, and must not
// end the worker that reads it.
func assemble(base string, data []byte, fetch func(string) ([]byte, error), found *findings) (b *Bundle, err error) {
	defer func() {
		if p := recover(); p != nil {
			found.add(base, position{}, "cannot be checked: a parser failed with a panic (%T)", p)
			b, err = nil, found.problems()
		}
	}()
	files := &files{fetch: fetch, kept: map[string][]byte{base: data}, size: len(data)}
	f := check(base, data, files, found)
	if f == nil {
		return nil, found.problems()
	}
	b = &Bundle{encoded: encodeFiles(base, files.kept), flow: f}
	b.sha = sha256.Sum256(b.encoded)
	return b, nil
}

// SHA addresses the bundle. The files' names and bytes make it, comments included; the folder that they lie in and
// files that the flow does not name do not count.
func (b *Bundle) SHA() SHA { return b.sha }

// Flow is the checked flow, the same one every time.
func (b *Bundle) Flow() *Flow { return b.flow }
