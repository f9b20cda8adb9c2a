package telemetrytest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Line is one DogStatsD metric as it was on the wire.
type Line struct {
	Name   string // with its namespace
	Type   string // c, g or d
	Values []float64
	Tags   []string // key:value, in the order of the wire
}

var (
	metricName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)
	metricTag  = regexp.MustCompile(`^[a-z][a-z_]*:[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)
	decimal    = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	integer    = regexp.MustCompile(`^-?[0-9]+$`)
	container  = regexp.MustCompile(`^c:[A-Za-z0-9-]+$`)
)

// ParseLine reads one line without its end, and refuses all that a receiver could take two ways: other types than c, g and
// d, several values of what is no distribution, sampling, empty or repeated tags, sections that are unknown, repeated or
// out of order.
func ParseLine(text string) (Line, error) {
	var l Line
	name, rest, ok := strings.Cut(text, ":")
	if !ok || !metricName.MatchString(name) {
		return l, fmt.Errorf("no metric name in %q", text)
	}
	l.Name = name
	sections := strings.Split(rest, "|")
	if len(sections) < 2 {
		return l, fmt.Errorf("no type in %q", text)
	}
	l.Type = sections[1]
	if err := l.parseValues(sections[0]); err != nil {
		return l, fmt.Errorf("%w in %q", err, text)
	}
	sections = sections[2:]
	if len(sections) > 0 && strings.HasPrefix(sections[0], "#") {
		if err := l.parseTags(sections[0][1:]); err != nil {
			return l, fmt.Errorf("%w in %q", err, text)
		}
		sections = sections[1:]
	}
	if len(sections) > 0 && container.MatchString(sections[0]) {
		sections = sections[1:]
	}
	if len(sections) > 0 {
		return l, fmt.Errorf("section %q in %q", sections[0], text)
	}
	return l, nil
}

func (l *Line) parseValues(text string) error {
	pattern := decimal
	switch l.Type {
	case "d", "g":
	case "c":
		pattern = integer
	default:
		return fmt.Errorf("type %q", l.Type)
	}
	values := strings.Split(text, ":")
	if len(values) > 1 && l.Type != "d" {
		return fmt.Errorf("%d values", len(values))
	}
	for _, v := range values {
		if !pattern.MatchString(v) {
			return fmt.Errorf("value %q", v)
		}
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return fmt.Errorf("value %q", v)
		}
		l.Values = append(l.Values, f)
	}
	return nil
}

func (l *Line) parseTags(text string) error {
	seen := map[string]bool{}
	for _, t := range strings.Split(text, ",") {
		if !metricTag.MatchString(t) {
			return fmt.Errorf("tag %q", t)
		}
		key, _, _ := strings.Cut(t, ":")
		if seen[key] {
			return fmt.Errorf("tag key %q twice", key)
		}
		seen[key] = true
		l.Tags = append(l.Tags, t)
	}
	return nil
}

// Tag returns the value of the tag with the key, or nothing.
func (l Line) Tag(key string) string {
	for _, t := range l.Tags {
		if value, ok := strings.CutPrefix(t, key+":"); ok {
			return value
		}
	}
	return ""
}

// String returns the line as it was on the wire, without what the receiver is told of the sender's container.
func (l Line) String() string {
	var b strings.Builder
	b.WriteString(l.Name)
	for _, v := range l.Values {
		b.WriteByte(':')
		b.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
	}
	b.WriteByte('|')
	b.WriteString(l.Type)
	if len(l.Tags) > 0 {
		b.WriteString("|#")
		b.WriteString(strings.Join(l.Tags, ","))
	}
	return b.String()
}
