package runstate

import (
	"strconv"
	"strings"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// StepEnd is what is kept of a finished step beside its outcome: all content-free.
type StepEnd struct {
	Attempts  int
	Latency   time.Duration
	Model     executor.ModelVersion
	Usage     executor.Usage
	Prompted  bool // the step has a prompt, so the bundle's SHA is its prompt_bundle_sha
	Provider  provider.Name
	ErrorKind provider.Kind
	Reason    provider.Reason
}

// encode writes the end as one record: numbers and identifiers with ; between them.
func (e StepEnd) encode() string {
	var b strings.Builder
	b.Grow(64)
	num := func(n int64) { b.WriteString(strconv.FormatInt(n, 10)); b.WriteByte(';') }
	num(int64(e.Attempts))
	num(e.Latency.Milliseconds())
	if e.Usage.Known() {
		num(e.Usage.Input())
		num(e.Usage.Output())
	} else {
		b.WriteString(";;")
	}
	num(int64(e.ErrorKind))
	num(int64(e.Reason))
	if e.Prompted {
		b.WriteByte('p')
	}
	b.WriteByte(';')
	b.WriteString(e.Provider.String())
	b.WriteByte(';')
	b.WriteString(e.Model.String())
	return b.String()
}

func decodeEnd(s string) (StepEnd, error) {
	if s == "" {
		return StepEnd{}, nil
	}
	p := strings.Split(s, ";")
	if len(p) != 9 {
		return StepEnd{}, errRecord
	}
	var n [6]int64
	for i := range n {
		if p[i] == "" && (i == 2 || i == 3) {
			continue
		}
		v, err := strconv.ParseInt(p[i], 10, 64)
		if err != nil || v < 0 {
			return StepEnd{}, errRecord
		}
		n[i] = v
	}
	e := StepEnd{
		Attempts: int(n[0]), Latency: time.Duration(n[1]) * time.Millisecond,
		ErrorKind: provider.Kind(n[4]), Reason: provider.Reason(n[5]), Prompted: p[6] == "p",
		Model: executor.ModelVersionOf(p[8]),
	}
	if p[2] != "" {
		e.Usage = executor.Tokens(n[2], n[3])
	}
	if p[7] != "" {
		name, err := provider.ParseName(p[7])
		if err != nil {
			return StepEnd{}, errRecord
		}
		e.Provider = name
	}
	return e, nil
}

// Progress is what a parked unit has used up, and since when it has been kept waiting.
type Progress struct {
	Spent  executor.Spent
	Parked time.Time // zero: not parked yet
	// Down is for how long in all a provider that is down has kept it waiting; in whole milliseconds. It has a field of its own in
	// the run, since workers that do not know it read the others.
	Down  time.Duration
	Lacks Lack // what the worker that parked it has not got; told to who looks, and to no worker that claims it
}

// Lack is what a worker has not got that a step names.
type Lack byte

// What may be lacking. The zero Lack is nothing: a parked unit then waits for its provider.
const (
	LacksHandler Lack = 'h'
	LacksChain   Lack = 'c' // or somebody in it who can do what the step requires
)

func (p Progress) encode() string {
	if p == (Progress{}) {
		return ""
	}
	s := strconv.Itoa(p.Spent.Attempts) + ";" + strconv.FormatInt(p.Spent.Latency.Milliseconds(), 10) + ";"
	if p.Spent.Usage.Known() {
		s += strconv.FormatInt(p.Spent.Usage.Input(), 10) + ";" + strconv.FormatInt(p.Spent.Usage.Output(), 10)
	} else {
		s += ";"
	}
	s += ";" + strconv.FormatInt(p.Parked.UnixMilli(), 10)
	if p.Lacks != 0 {
		s += ";" + string(p.Lacks)
	}
	return s
}

// decodeWaiting is decodeProgress with what was lacking.
func decodeWaiting(s string) (Progress, error) {
	p, err := decodeProgress(s)
	if strings.Count(s, ";") == 5 {
		p.Lacks = Lack(s[len(s)-1])
	}
	return p, err
}

func decodeProgress(s string) (Progress, error) {
	if s == "" {
		return Progress{}, nil
	}
	p := strings.Split(s, ";")
	if len(p) == 6 && (p[5] == string(LacksHandler) || p[5] == string(LacksChain)) {
		p = p[:5]
	}
	if len(p) != 5 {
		return Progress{}, errRecord
	}
	var n [5]int64
	for i := range n {
		if p[i] == "" && (i == 2 || i == 3) {
			continue
		}
		v, err := strconv.ParseInt(p[i], 10, 64)
		if err != nil {
			return Progress{}, errRecord
		}
		n[i] = v
	}
	out := Progress{Spent: executor.Spent{Attempts: int(n[0]), Latency: time.Duration(n[1]) * time.Millisecond}, Parked: time.UnixMilli(n[4])}
	if p[2] != "" {
		out.Spent.Usage = executor.Tokens(n[2], n[3])
	}
	return out, nil
}
