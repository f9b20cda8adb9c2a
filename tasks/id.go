package tasks

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"regexp"
	"strings"

	"fourfold/tasks/internal/runstate"
)

// RunID names a run: <queue>.<26 characters>. The zero RunID names none.
type RunID struct{ queue, text string }

// ErrRunID is the error of a text that is no run id.
var ErrRunID = errors.New("tasks: not a run id (want <queue>.<26 characters of 0-9 and a-z without i, l, o, u>)")

// ErrQueueName is the error of a queue name that is not [a-z0-9][a-z0-9_-]{0,62}.
var ErrQueueName = errors.New("tasks: not a queue name (want [a-z0-9][a-z0-9_-]{0,62})")

var (
	queueName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	runName   = regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{26}$`)
	alphabet  = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
)

// CheckQueueName says whether a queue may have this name. Errors: ErrQueueName.
func CheckQueueName(name string) error {
	if !queueName.MatchString(name) {
		return ErrQueueName
	}
	return nil
}

// ParseRunID reads what String wrote. Errors: ErrRunID.
func ParseRunID(s string) (RunID, error) {
	queue, id, found := strings.Cut(s, ".")
	if !found || !queueName.MatchString(queue) || !runName.MatchString(id) {
		return RunID{}, ErrRunID
	}
	return RunID{queue, s}, nil
}

// newRunID makes a random id, or with a producer's key the one id that flow and key have on this queue.
func newRunID(queue, flow, key string) RunID {
	var raw [16]byte
	if key == "" {
		_, _ = rand.Read(raw[:]) // never fails
	} else {
		sum := sha256.Sum256([]byte(flow + "\x00" + key))
		copy(raw[:], sum[:])
	}
	return RunID{queue, queue + "." + alphabet.EncodeToString(raw[:])}
}

func (r RunID) String() string { return r.text }

// Queue is the queue that the run belongs to.
func (r RunID) Queue() string { return r.queue }

// IsZero says whether r names no run.
func (r RunID) IsZero() bool { return r == RunID{} }

// MarshalText writes what String says.
func (r RunID) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what ParseRunID reads.
func (r *RunID) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRunID(string(text))
	return err
}

func (r RunID) ref() runstate.Ref { return runstate.Ref{Queue: r.queue, Run: r.String()} }

func refOf(run string) (RunID, runstate.Ref, error) {
	id, err := ParseRunID(run)
	return id, id.ref(), err
}
