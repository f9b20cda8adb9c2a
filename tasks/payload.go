package tasks

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// payload is what a task carries: where the work is, and the marker of what it rests on. It names no content, and is a
// few hundred bytes at most, since asynq writes the payload of every active task again every five seconds.
//
// On the wire: version|run|bundle sha|generation|unit|redrive|marker. A worker rejects versions that it does not know.
type payload struct {
	Run        RunID
	SHA        flow.SHA
	Generation int
	Unit       runstate.Unit
	Redrive    int
	Marker     runstate.Marker
}

const payloadVersion = "1"

var errPayload = errors.New("tasks: undecodable task")

func (p payload) encode() []byte {
	out := make([]byte, 0, 160)
	out = append(append(out, payloadVersion+"|"...), p.Run.String()...)
	out = hex.AppendEncode(append(out, '|'), p.SHA[:])
	out = strconv.AppendInt(append(out, '|'), int64(p.Generation), 10)
	out = append(append(out, '|'), p.Unit.String()...)
	out = strconv.AppendInt(append(out, '|'), int64(p.Redrive), 10)
	return append(append(out, '|'), p.Marker.String()...)
}

func decodePayload(data []byte) (payload, error) {
	f := strings.Split(string(data), "|")
	if len(data) > 512 || len(f) != 7 || f[0] != payloadVersion {
		return payload{}, errPayload
	}
	var p payload
	var errs [5]error
	p.Run, errs[0] = ParseRunID(f[1])
	p.SHA, errs[1] = executor.ParsePromptSHA(f[2])
	p.Generation, errs[2] = strconv.Atoi(f[3])
	p.Unit, errs[3] = runstate.ParseUnit(f[4])
	p.Redrive, errs[4] = strconv.Atoi(f[5])
	marker, err := runstate.ParseMarker(f[6])
	p.Marker = marker
	if errors.Join(append(errs[:], err)...) != nil || p.Generation < 1 || p.Redrive < 0 || p.Unit == runstate.DoneUnit {
		return payload{}, errPayload
	}
	return p, nil
}

// ring is the task that delivers p: its id is the outbox entry that it answers, so that a second one is the same.
func (p payload) ring(headers map[string]string) doorbell.Ring {
	e := runstate.Entry{Ref: p.Run.ref(), Generation: p.Generation, Unit: p.Unit, Redrive: p.Redrive}
	return doorbell.Ring{Queue: p.Run.Queue(), ID: e.Member(), Payload: p.encode(), Headers: headers}
}
