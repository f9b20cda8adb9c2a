package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	// maxEvent bounds one event of a stream, and maxBody a whole answer: larger than any answer of a model, small
	// enough that a runaway provider cannot exhaust a worker.
	maxEvent = 8 << 20
	maxBody  = 32 << 20
	// maxErrorBody is how much of an error's body is looked at to classify it.
	maxErrorBody = 64 << 10
	// maxPooled keeps the rare huge buffer from living in the pool.
	maxPooled = 1 << 20
)

var errTooLarge = errors.New("answer too large")

// bounded reads a body up to a limit, and remembers how reading ended: the layers above it swallow errors.
type bounded struct {
	r    io.Reader
	left int64
	head []byte // looked at by sniff, not yet read
	buf  [64]byte
	err  error // the first error other than io.EOF
}

func newBounded(r io.Reader, limit int64) *bounded { return &bounded{r: r, left: limit} }

func (b *bounded) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		b.err = errTooLarge
		return 0, b.err
	case err != nil && err != io.EOF:
		b.err = err
	}
	return n, err
}

// shape is what the first bytes of a body look like.
type shape uint8

const (
	shapeOther shape = iota // HTML, plain text, nothing
	shapeJSON
	shapeEvents
)

// sniff looks at the first bytes that are not blank: the declared type of a body is wrong too often to rely on.
// Leading blanks and a byte order mark are dropped (some providers send line breaks to keep a slow call alive).
func (b *bounded) sniff(declared shape) (shape, error) {
	n := 0
	for {
		m, err := b.Read(b.buf[n:])
		n = copy(b.buf[:], trimBlank(b.buf[:n+m]))
		seen := shapeOf(b.buf[:n])
		if seen == shapeOther && n < len("event:") && err == nil {
			continue
		}
		if seen == shapeOther && declared == shapeEvents {
			seen = shapeEvents
		}
		if b.head = b.buf[:n]; errors.Is(err, io.EOF) {
			err = nil
		}
		return seen, err
	}
}

func trimBlank(p []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(p, " \t\r\n"), []byte("\xEF\xBB\xBF")), " \t\r\n")
}

func shapeOf(head []byte) shape {
	if len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		return shapeJSON
	}
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(head, []byte(field)) {
			return shapeEvents
		}
	}
	return shapeOther
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// whole reads the rest of a body into a pooled buffer and hands it to use, which must keep nothing of it.
func whole(r io.Reader, use func([]byte)) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxPooled {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	if _, err := buf.ReadFrom(r); err != nil {
		return err
	}
	use(buf.Bytes())
	return nil
}
