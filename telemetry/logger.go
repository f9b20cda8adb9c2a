package telemetry

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rs/zerolog"
)

// Leveled is what packages below telemetry's wiring log through: a fixed, content-free text and key-value pairs. [Logger]
// is one; so is tasks.Logger.
type Leveled interface {
	Debug(msg string, kv ...any)
	Info(msg string, kv ...any)
	Warn(msg string, kv ...any)
	Error(msg string, kv ...any)
}

// Logger is the process's log. Its methods are for many goroutines and never wait for the output; lines that the output
// does not take are dropped, counted and reported. Key-value pairs print as numbers, durations (in milliseconds, under the
// key with _ms), enumerations, identifiers and error codes; anything else prints as [content]. The nil Logger is silent.
type Logger struct {
	zero zerolog.Logger
	out  *lineWriter
}

// Levels and formats that NewLogger knows.
var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"json", "text"}
)

// NewLogger returns a log that writes to w lines of the level (debug, info, warn, error; empty: info) and above, in the
// format json (one object a line; also when empty) or text (for people at a terminal, without colours). w is written to
// by one goroutine. The caller calls Close last of all.
func NewLogger(w io.Writer, level, format string) (*Logger, error) {
	if level == "" {
		level = "info"
	}
	if format == "" {
		format = "json"
	}
	if !slices.Contains(logLevels, level) {
		return nil, fmt.Errorf("log level must be one of %v", logLevels)
	}
	if !slices.Contains(logFormats, format) {
		return nil, fmt.Errorf("log format must be one of %v", logFormats)
	}
	lowest, err := zerolog.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level must be one of %v", logLevels)
	}
	out := writeTo(w)
	if format == "text" {
		out = writeEach(textWriter(w))
	}
	lines := newLineWriter(out)
	return &Logger{zero: zerolog.New(lines).Level(lowest).Hook(stamped{}), out: lines}, nil
}

// Close writes the lines that wait and returns, after two seconds at the latest. Lines logged later are dropped.
func (l *Logger) Close() {
	if l != nil {
		l.out.close(closeWithin)
	}
}

// Debug logs what only a developer wants to see.
func (l *Logger) Debug(msg string, kv ...any) { l.log(zerolog.DebugLevel, msg, kv) }

// Info logs what happened.
func (l *Logger) Info(msg string, kv ...any) { l.log(zerolog.InfoLevel, msg, kv) }

// Warn logs what an operator should know of.
func (l *Logger) Warn(msg string, kv ...any) { l.log(zerolog.WarnLevel, msg, kv) }

// Error logs what an operator must act on.
func (l *Logger) Error(msg string, kv ...any) { l.log(zerolog.ErrorLevel, msg, kv) }

func (l *Logger) log(level zerolog.Level, msg string, kv []any) {
	e := l.event(level)
	if e == nil {
		return
	}
	for i := 0; i < len(kv); i += 2 {
		if i+1 == len(kv) {
			e = e.Str("missing", withheld)
			break
		}
		e = field(e, kv[i], kv[i+1])
	}
	e.Msg(msg)
}

// enabled reports whether lines of the level are written.
func (l *Logger) enabled(level zerolog.Level) bool { return l != nil && l.zero.GetLevel() <= level }

// event starts a line of the level; it is nil, which zerolog takes, when the line is not written.
func (l *Logger) event(level zerolog.Level) *zerolog.Event {
	if l == nil {
		return nil
	}
	return l.zero.WithLevel(level)
}

// dropped is the number of lines dropped since the start.
func (l *Logger) dropped() int64 {
	if l == nil {
		return 0
	}
	return l.out.dropped.Load()
}

// stamped adds the time under the name that Datadog takes for a line's own.
type stamped struct{}

func (stamped) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str("timestamp", stamp(time.Now()))
}

func textWriter(w io.Writer) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out:           w,
		NoColor:       true,
		PartsOrder:    []string{"timestamp", "level", "message"},
		FieldsExclude: []string{"timestamp"},
		FormatPartValueByName: func(v any, _ string) string {
			text, _ := v.(string)
			return text
		},
	}
}
