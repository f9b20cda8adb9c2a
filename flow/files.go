package flow

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Bounds of a bundle.
const (
	maxFlowFile = 512 << 10
	maxFile     = 1 << 20
	maxBundle   = 8 << 20
	maxFiles    = 4096
)

var (
	errNoFile       = errors.New("there is no such file")
	errNotAFile     = errors.New("is no regular file")
	errLeaves       = errors.New("leaves the flow file's folder")
	errDots         = errors.New("has .. in it; files lie in the flow file's folder or below")
	errBackslash    = errors.New("file names are written with /")
	errFileSize     = errors.New("is larger than 1 MiB")
	errFlowFileSize = errors.New("is larger than 512 KiB")
	errBundle       = errors.New("makes the bundle larger than 8 MiB or 4096 files")
	errReading      = errors.New("cannot be read")
	errLinks        = errors.New("is a chain of too many links")
)

// files gives out the files of a bundle and keeps what it gave.
type files struct {
	fetch func(name string) ([]byte, error)
	kept  map[string][]byte
	size  int
}

// read returns a file by its name relative to the flow file. Its errors are the fixed ones above.
func (f *files) read(name string) ([]byte, error) {
	name, err := localName(name)
	if err != nil {
		return nil, err
	}
	if data, ok := f.kept[name]; ok {
		return data, nil
	}
	data, err := f.fetch(name)
	if err != nil {
		return nil, err
	}
	f.size += len(data)
	if f.size > maxBundle || len(f.kept) == maxFiles {
		return nil, errBundle
	}
	f.kept[name] = data
	return data, nil
}

// localName is the one way to write the name of a file that does not leave the folder.
func localName(name string) (string, error) {
	if strings.Contains(name, `\`) {
		return "", errBackslash
	}
	if path.IsAbs(name) {
		return "", errLeaves
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", errDots
		}
	}
	if name = path.Clean(name); !fs.ValidPath(name) || name == "." {
		return "", errNotAFile
	}
	return name, nil
}

// fromFS fetches files that lie in a folder. Links are followed as long as they stay in it.
func fromFS(fsys fs.FS, dir string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		name, err := followLinks(fsys, dir, name)
		if err != nil {
			return nil, err
		}
		return readFile(fsys, path.Join(dir, name))
	}
}

// readFile reads a regular file of bounded size.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name) // before opening: a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoFile
	case err != nil:
		return nil, errReading
	case !info.Mode().IsRegular():
		return nil, errNotAFile
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, errReading
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, errReading
	case len(data) > maxFile:
		return nil, errFileSize
	}
	return data, nil
}

// followLinks resolves symbolic links within a folder and refuses those that lead out of it. (A ConfigMap is
// mounted as links to files beside them.) A file system that knows no links has none.
func followLinks(fsys fs.FS, dir, name string) (string, error) {
	if _, ok := fsys.(fs.ReadLinkFS); !ok {
		return name, nil
	}
	at, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		info, err := fs.Lstat(fsys, path.Join(dir, next))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", errNoFile
		case err != nil:
			return "", errReading
		case info.Mode()&fs.ModeSymlink == 0:
			at, rest = next, rest[1:]
			continue
		}
		target, err := fs.ReadLink(fsys, path.Join(dir, next))
		if err != nil {
			return "", errReading
		}
		if path.IsAbs(target) {
			return "", errLeaves
		}
		if target = path.Join(at, target); target == ".." || strings.HasPrefix(target, "../") {
			return "", errLeaves
		}
		if links++; links > 40 {
			return "", errLinks
		}
		at, rest = ".", append(strings.Split(target, "/"), rest[1:]...)
	}
	return at, nil
}
