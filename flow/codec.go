package flow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An encoded bundle is the magic line, then name and content of each file: the flow file first, the others by
// name. Each is preceded by its length, four bytes with the highest first. There is one encoding of a bundle only,
// since its SHA-256 is the bundle's address.
const magic = "fourfold bundle 1\n"

// Encode returns the bundle for keeping and sending: what Decode reads. The caller must not change it.
func (b *Bundle) Encode() []byte { return b.encoded }

func encodeFiles(flowFile string, files map[string][]byte) []byte {
	out := []byte(magic)
	put := func(b []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	put([]byte(flowFile))
	put(files[flowFile])
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != flowFile {
			put([]byte(name))
			put(files[name])
		}
	}
	return out
}

// CorruptError says that data is no bundle, or one that does not pass the checks of Load. Its text quotes none of
// it.
type CorruptError struct {
	Reason   string   // fixed words
	Problems Problems // what Load would say of it; may be empty
}

func (e *CorruptError) Error() string {
	if len(e.Problems) == 0 {
		return "flow: not a bundle: " + e.Reason
	}
	return fmt.Sprintf("flow: a bundle with %d problems", len(e.Problems))
}

// Decode reads what Encode wrote and checks it again, as strictly as Load. The error is a *CorruptError.
func Decode(data []byte) (*Bundle, error) {
	flowFile, files, reason := decodeFiles(data)
	if reason != "" {
		return nil, &CorruptError{Reason: reason}
	}
	fetch := func(name string) ([]byte, error) {
		content, ok := files[name]
		if !ok {
			return nil, errNoFile
		}
		return content, nil
	}
	b, err := assemble(flowFile, files[flowFile], fetch, &findings{dir: "."})
	if problems, ok := errors.AsType[Problems](err); ok {
		return nil, &CorruptError{Reason: "it has problems", Problems: problems}
	}
	if !bytes.Equal(b.encoded, data) {
		return nil, &CorruptError{Reason: "it has files that its flow does not name"}
	}
	return b, nil
}

func decodeFiles(data []byte) (flowFile string, files map[string][]byte, reason string) {
	if len(data) > 2*maxBundle {
		return "", nil, "too long"
	}
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return "", nil, "another format or version"
	}
	take := func() (b []byte, ok bool) {
		if len(rest) < 4 {
			return nil, false
		}
		n := binary.BigEndian.Uint32(rest)
		if rest = rest[4:]; uint64(n) > uint64(len(rest)) {
			return nil, false
		}
		b, rest = rest[:n:n], rest[n:]
		return b, true
	}
	files = map[string][]byte{}
	for last := ""; len(rest) > 0; {
		name, ok1 := take()
		content, ok2 := take()
		local, err := localName(string(name))
		switch {
		case !ok1 || !ok2:
			return "", nil, "cut short"
		case err != nil || local != string(name):
			return "", nil, "a bad file name"
		case len(content) > maxFile || len(files) == maxFiles:
			return "", nil, "too long"
		case flowFile == "":
			if flowFile = local; strings.Contains(local, "/") || len(content) > maxFlowFile {
				return "", nil, "a bad flow file"
			}
		case local <= last || local == flowFile:
			return "", nil, "files out of order"
		default:
			last = local
		}
		files[local] = content
	}
	if flowFile == "" {
		return "", nil, "no files"
	}
	return flowFile, files, ""
}
