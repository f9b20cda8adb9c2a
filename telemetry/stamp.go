package telemetry

import (
	"sync/atomic"
	"time"
)

// secondStamp is the text of one second, kept because formatting it costs more than the rest of a log line.
type secondStamp struct {
	unix int64
	text string // 2006-01-02T15:04:05
}

var lastSecond atomic.Pointer[secondStamp]

// appendStamp appends t in UTC with milliseconds, as 2006-01-02T15:04:05.000Z.
func appendStamp(b []byte, t time.Time) []byte {
	s := lastSecond.Load()
	if s == nil || s.unix != t.Unix() {
		s = &secondStamp{t.Unix(), t.UTC().Format("2006-01-02T15:04:05")}
		lastSecond.Store(s)
	}
	ms := t.Nanosecond() / int(time.Millisecond)
	b = append(b, s.text...)
	return append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

func stamp(t time.Time) string { return string(appendStamp(nil, t)) }
