package runstate

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
)

// StepState is where a step stands.
type StepState uint8

// The states of a step.
const (
	StepWaiting StepState = iota + 1
	StepQueued
	StepRunning
	StepExpanded
	StepDone
)

// StepRecord is one step, or one item, as the run's hash holds it.
type StepRecord struct {
	ID         string
	Sink       bool
	State      StepState
	Outcome    executor.Outcome
	Cause      Cause
	Skipped    bool
	Marker     Marker // outgoing when done, incoming before
	End        StepEnd
	Deliveries int
	Due        time.Time    // when a queued unit was to be rung for
	Waiting    Progress     // of a queued unit
	Items      []StepRecord // of a for_each step, as far as they are known
}

// Snapshot is a run at one moment.
type Snapshot struct {
	Flow       string
	BundleSHA  string
	Finished   bool
	Generation int
	Open       int
	Marker     Marker
	Counts     [5]int // abstained, ok, degraded, failed, skipped
	CreatedAt  time.Time
	FinishedAt time.Time
	Deadline   time.Time
	Steps      []StepRecord
}

// Read takes a snapshot; ok is false when there is no such run.
func (s *Store) Read(ctx context.Context, r Ref) (snap Snapshot, ok bool, err error) {
	fields, err := s.rdb.HGetAll(ctx, runKey(r)).Result()
	if err != nil || len(fields) == 0 {
		return Snapshot{}, false, err
	}
	snap, err = decodeSnapshot(fields)
	return snap, true, err
}

// State reads the little that somebody who waits for a run needs.
func (s *Store) State(ctx context.Context, r Ref) (finished bool, generation int, ok bool, err error) {
	rec, err := s.rdb.HGet(ctx, runKey(r), "r").Result()
	if errors.Is(err, redis.Nil) {
		return false, 0, false, nil
	}
	if err != nil {
		return false, 0, false, err
	}
	p := strings.SplitN(rec, "|", 3)
	if len(p) != 3 {
		return false, 0, true, errRecord
	}
	generation, err = index(p[1])
	return p[0] == "d", generation, true, err
}

// Values reads the values of the given steps; a step without one is absent.
func (s *Store) Values(ctx context.Context, r Ref, steps []int) (map[int][]byte, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	fields := make([]string, len(steps))
	for i, step := range steps {
		fields[i] = strconv.Itoa(step)
	}
	got, err := s.rdb.HMGet(ctx, valKey(r), fields...).Result()
	if err != nil {
		return nil, err
	}
	out := make(map[int][]byte, len(steps))
	for i, v := range got {
		if text, ok := v.(string); ok {
			out[steps[i]] = []byte(text)
		}
	}
	return out, nil
}

// packHead writes the bundle's SHA-256 as the head of a run does, before the input's hash: Redis keeps a hash compact only while
// each of its values is at most 64 bytes.
func packHead(sha []byte) string { return base64.RawURLEncoding.EncodeToString(sha) + "|" }

func splitHead(h string) (sha string, err error) {
	packed, _, found := strings.Cut(h, "|")
	raw, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil || !found {
		return "", errRecord
	}
	return hex.EncodeToString(raw), nil
}

func decodeSnapshot(f map[string]string) (Snapshot, error) {
	var s Snapshot
	var err error
	s.Flow = f["f"]
	if s.BundleSHA, err = splitHead(f["h"]); err != nil {
		return s, err
	}
	fixed := strings.SplitN(f["k"], "|", 7)
	moving := strings.SplitN(f["r"], "|", 10)
	if len(fixed) != 7 || len(moving) != 10 {
		return s, errRecord
	}
	n, err := index(fixed[0])
	if err != nil {
		return s, err
	}
	s.CreatedAt, s.Deadline, s.FinishedAt = millis(fixed[1]), millis(fixed[2]), millis(moving[8])
	s.Finished = moving[0] == "d"
	if s.Generation, err = index(moving[1]); err != nil {
		return s, err
	}
	if s.Open, err = index(moving[2]); err != nil {
		return s, err
	}
	for i := range s.Counts {
		if s.Counts[i], err = index(moving[3+i]); err != nil {
			return s, err
		}
	}
	if s.Marker, err = ParseMarker(moving[9]); err != nil {
		return s, err
	}
	s.Steps = make([]StepRecord, n)
	for i := range s.Steps {
		if s.Steps[i], err = decodeStepFields(f, i); err != nil {
			return s, err
		}
	}
	return s, nil
}

func decodeStepFields(f map[string]string, i int) (StepRecord, error) {
	unit := strconv.Itoa(i)
	node := strings.Split(f["g"+unit], "|")
	if len(node) != 4 {
		return StepRecord{}, errRecord
	}
	rec, err := decodeStep(f["s"+unit])
	if err != nil {
		return StepRecord{}, err
	}
	rec.ID, rec.Sink = node[0], node[3] == ""
	if rec.State == StepQueued && f["c"+unit] != "" {
		rec.State = StepRunning
	}
	for k := 0; ; k++ {
		name := unit + "." + strconv.Itoa(k)
		raw, ok := f["s"+name]
		if !ok {
			break
		}
		item, err := decodeStep(raw)
		if err != nil {
			return StepRecord{}, err
		}
		if item.State == StepQueued && f["c"+name] != "" {
			item.State = StepRunning
		}
		rec.Items = append(rec.Items, item)
	}
	return rec, nil
}

func decodeStep(s string) (StepRecord, error) {
	kind, rest, _ := strings.Cut(s, "|")
	var rec StepRecord
	var err error
	switch kind {
	case "w":
		p := strings.SplitN(rest, "|", 2)
		if len(p) != 2 {
			return rec, errRecord
		}
		rec.State = StepWaiting
		rec.Marker, err = ParseMarker(p[1])
	case "q":
		p := strings.SplitN(rest, "|", 5)
		if len(p) != 5 {
			return rec, errRecord
		}
		rec.State = StepQueued
		if rec.Deliveries, err = index(p[1]); err != nil {
			return rec, err
		}
		if rec.Waiting, err = decodeWaiting(p[3]); err != nil {
			return rec, err
		}
		rec.Due = millis(p[2])
		rec.Marker, err = ParseMarker(p[4])
	case "e":
		p := strings.SplitN(rest, "|", 5)
		if len(p) != 5 {
			return rec, errRecord
		}
		rec.State = StepExpanded
		rec.Marker, err = ParseMarker(p[4])
	case "d":
		return decodeDone(rest)
	default:
		return rec, errRecord
	}
	return rec, err
}

func decodeDone(rest string) (StepRecord, error) {
	p := strings.SplitN(rest, "|", 6)
	if len(p) != 6 {
		return StepRecord{}, errRecord
	}
	rec := StepRecord{State: StepDone, Skipped: p[2] == "1"}
	outcome, err := index(p[0])
	if err != nil {
		return rec, err
	}
	cause, err := index(p[1])
	if err != nil {
		return rec, err
	}
	rec.Outcome, rec.Cause = executor.Outcome(outcome), Cause(cause)
	if rec.Marker, err = ParseMarker(p[4]); err != nil {
		return rec, err
	}
	rec.End, err = decodeEnd(p[5])
	return rec, err
}
