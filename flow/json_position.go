package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// jsonErrorPosition is where a JSON file stops being JSON.
func jsonErrorPosition(data []byte, err error) position {
	offset := int64(len(data))
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		offset = max(syntax.Offset-1, 0)
	} else if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		d := json.NewDecoder(bytes.NewReader(data)) // text after the value
		var v json.RawMessage
		if d.Decode(&v) == nil {
			rest := data[d.InputOffset():]
			offset = d.InputOffset() + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n")))
		}
	}
	return positionAt(string(data), int(offset))
}

// jsonPosition is where the value at a path of keys and indices stands in a JSON file: at its key when it has one.
func jsonPosition(data []byte, path []string) position {
	d := json.NewDecoder(bytes.NewReader(data))
	offset, ok := seekJSON(d, path)
	if !ok {
		return position{}
	}
	for offset < len(data) && bytes.IndexByte([]byte(" \t\r\n,:"), data[offset]) >= 0 {
		offset++
	}
	return positionAt(string(data), offset)
}

// seekJSON walks a decoder to the value at a path and returns the offset after what precedes its key or itself.
func seekJSON(d *json.Decoder, path []string) (int, bool) {
	at := int(d.InputOffset())
	for _, step := range path {
		opening, err := d.Token()
		if err != nil {
			return 0, false
		}
		found := false
		for i := 0; d.More() && !found; i++ {
			at = int(d.InputOffset())
			name := strconv.Itoa(i)
			if opening == json.Delim('{') {
				key, err := d.Token()
				if err != nil {
					return 0, false
				}
				name, _ = key.(string)
			}
			if found = name == step; found {
				break
			}
			var skipped json.RawMessage
			if d.Decode(&skipped) != nil {
				return 0, false
			}
		}
		if !found {
			return 0, false
		}
	}
	return at, true
}
