package tasks

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/tasks/internal/runstate"
)

// Values says whose values a Status holds.
type Values uint8

// Whose values.
const (
	SinkValues Values = iota // of the steps that no other step needs
	AllValues
	NoValues
)

// The states of a run and of its steps.
const (
	StateOpen    = "open"
	StateDone    = "done"
	StateWaiting = "waiting" // for its parents
	StateQueued  = "queued"
	StateRunning = "running"
)

// StepStatus is one step of a run. Outcome and what follows from it are set when State is done.
type StepStatus struct {
	executor.Envelope
	State     string // waiting, queued, running or done
	Skipped   bool   // FAILED, because a step that it requires failed
	Cause     Cause  // of an outcome worse than OK
	Provider  provider.Name
	ErrorKind provider.Kind
	Reason    provider.Reason
	Marker    Marker  // outgoing
	Items     *Counts // of a for_each step: its finished items by outcome
	WaitsFor  WaitsFor
	Waits     time.Time // since when; zero when it waits for nothing
}

// WaitsFor is what keeps a step from going on that could run now: a queued step, or a for_each step of whose items none is
// running. Empty: nothing does.
type WaitsFor string

// What a step waits for.
const (
	WaitsForWorker   WaitsFor = "worker"   // none has taken it yet
	WaitsForProvider WaitsFor = "provider" // which may not be called for now
	WaitsForHandler  WaitsFor = "handler"  // no worker that took it has the handler it names
	WaitsForChain    WaitsFor = "chain"    // or the chain, or somebody in it who can do all that it requires
)

// Status is the status document of a run.
type Status struct {
	Run       RunID
	Flow      string
	BundleSHA flow.SHA
	State     string           // open or done
	Outcome   executor.Outcome // none while the run is open
	Marker    Marker           // so far; no outcome while nothing has ended
	Counts    Counts
	Steps     []StepStatus // in topological order
	Created   time.Time
	Finished  time.Time // zero while the run is open
	Values    map[executor.StepID]content.Of[json.RawMessage]
}

// Done says whether the run has ended.
func (s Status) Done() bool { return s.State == StateDone }

// MarshalJSON refuses: a Status holds content. JSON writes the public document.
func (s Status) MarshalJSON() ([]byte, error) {
	return nil, errors.New("tasks: a Status holds content; use its JSON method")
}

type statusJSON struct {
	Run       RunID                      `json:"run"`
	Flow      string                     `json:"flow"`
	BundleSHA flow.SHA                   `json:"bundle_sha"`
	State     string                     `json:"state"`
	Outcome   executor.Outcome           `json:"outcome,omitzero"`
	Marker    *Marker                    `json:"marker,omitempty"`
	Counts    Counts                     `json:"counts"`
	Steps     []stepJSON                 `json:"steps"`
	Values    map[string]json.RawMessage `json:"values,omitempty"`
}

type stepJSON struct {
	Step         executor.StepID       `json:"step"`
	State        string                `json:"state,omitempty"` // of a step that has not ended
	Outcome      executor.Outcome      `json:"outcome,omitzero"`
	Skipped      bool                  `json:"skipped,omitempty"`
	Cause        Cause                 `json:"cause,omitzero"` // where no failure class explains the outcome
	FailureClass executor.FailureClass `json:"failure_class,omitzero"`
	Attempts     *int                  `json:"attempts,omitempty"`
	LatencyMS    *int64                `json:"latency_ms,omitempty"`
	Model        executor.ModelVersion `json:"model_version,omitzero"`
	Prompt       executor.PromptSHA    `json:"prompt_bundle_sha,omitzero"`
	Provider     string                `json:"provider,omitempty"`
	ErrorKind    provider.Kind         `json:"error_kind,omitzero"`
	Reason       provider.Reason       `json:"reason,omitzero"`
	Usage        executor.Usage        `json:"token_usage,omitzero"`
	Items        *Counts               `json:"items,omitempty"`
	Marker       *Marker               `json:"marker,omitempty"`
	WaitsFor     WaitsFor              `json:"waits_for,omitempty"`
	Waits        *time.Time            `json:"waits_since,omitempty"`
}

// JSON writes the public status document, content included: what `enqueue status --json` prints. Absent keys: outcome
// while the run is open, marker while nothing has ended, values when none were asked for or the run has none.
func (s Status) JSON() ([]byte, error) {
	doc := statusJSON{Run: s.Run, Flow: s.Flow, BundleSHA: s.BundleSHA, State: s.State, Outcome: s.Outcome, Counts: s.Counts, Steps: []stepJSON{}}
	if s.Marker.Outcome != executor.OutcomeNone {
		doc.Marker = &s.Marker
	}
	for _, st := range s.Steps {
		doc.Steps = append(doc.Steps, st.public())
	}
	if len(s.Values) > 0 {
		doc.Values = make(map[string]json.RawMessage, len(s.Values))
		for id, v := range s.Values {
			doc.Values[id.String()] = v.Reveal()
		}
	}
	return json.Marshal(doc)
}

func (s StepStatus) public() stepJSON {
	if s.State != StateDone {
		doc := stepJSON{Step: s.Step, State: s.State, Items: s.Items, WaitsFor: s.WaitsFor}
		if !s.Waits.IsZero() {
			since := s.Waits.UTC()
			doc.Waits = &since
		}
		return doc
	}
	ms := s.Latency.Milliseconds()
	doc := stepJSON{
		Step: s.Step, Outcome: s.Outcome, Skipped: s.Skipped, FailureClass: s.FailureClass, Attempts: &s.Attempts, LatencyMS: &ms,
		Model: s.Model, Prompt: s.Prompt, Provider: s.Provider.String(), ErrorKind: s.ErrorKind, Reason: s.Reason, Usage: s.Usage,
		Items: s.Items, Marker: &s.Marker,
	}
	if s.FailureClass == executor.ClassNone {
		doc.Cause = s.Cause
	}
	return doc
}

// statusOf gives a snapshot its public names.
func statusOf(run RunID, snap runstate.Snapshot) (Status, error) {
	sha, err := executor.ParsePromptSHA(snap.BundleSHA)
	if err != nil {
		return Status{}, err
	}
	ids := make([]executor.StepID, len(snap.Steps))
	for i, st := range snap.Steps {
		if ids[i], err = executor.ParseStepID(st.ID); err != nil {
			return Status{}, err
		}
	}
	n := snap.Counts
	s := Status{
		Run: run, Flow: snap.Flow, BundleSHA: sha, State: StateOpen, Marker: markerOf(snap.Marker, ids), Created: snap.CreatedAt,
		Counts: Counts{Abstained: n[0], OK: n[1], Degraded: n[2], Failed: n[3], Skipped: n[4]},
	}
	if snap.Finished {
		s.State, s.Outcome, s.Finished = StateDone, snap.Marker.Outcome, snap.FinishedAt
	}
	for i, rec := range snap.Steps {
		s.Steps = append(s.Steps, stepStatusOf(rec, ids, i, sha))
	}
	return s, nil
}

func stepStatusOf(rec runstate.StepRecord, ids []executor.StepID, i int, sha flow.SHA) StepStatus {
	st := StepStatus{State: StateDone}
	st.Step = ids[i]
	if len(rec.Items) > 0 {
		st.Items = countItems(rec.Items)
	}
	switch rec.State {
	case runstate.StepWaiting:
		st.State = StateWaiting
	case runstate.StepQueued:
		st.State = StateQueued
		st.WaitsFor, st.Waits = waitsFor(rec)
	case runstate.StepRunning, runstate.StepExpanded:
		st.State = StateRunning
		if at := slices.IndexFunc(rec.Items, queued); at >= 0 && !slices.ContainsFunc(rec.Items, runs) {
			st.WaitsFor, st.Waits = waitsFor(rec.Items[at])
		}
	case runstate.StepDone:
		end := rec.End
		if len(rec.Items) > 0 {
			end = joinEnds(rec.Items)
		}
		st.Envelope = envelopeOf(ids[i], rec.Outcome, rec.Cause, end, sha)
		st.Skipped, st.Cause, st.Marker = rec.Skipped, Cause(rec.Cause), markerOf(rec.Marker, ids)
		st.Provider, st.ErrorKind, st.Reason = end.Provider, end.ErrorKind, end.Reason
	}
	return st
}

func queued(item runstate.StepRecord) bool { return item.State == runstate.StepQueued }
func runs(item runstate.StepRecord) bool   { return item.State == runstate.StepRunning }

// waitsFor says what a queued unit waits for, and since when.
func waitsFor(rec runstate.StepRecord) (WaitsFor, time.Time) {
	switch w := rec.Waiting; {
	case w.Parked.IsZero():
		return WaitsForWorker, rec.Due
	case w.Lacks == runstate.LacksHandler:
		return WaitsForHandler, w.Parked
	case w.Lacks == runstate.LacksChain:
		return WaitsForChain, w.Parked
	default:
		return WaitsForProvider, w.Parked
	}
}

func envelopeOf(id executor.StepID, o executor.Outcome, c runstate.Cause, end runstate.StepEnd, sha flow.SHA) executor.Envelope {
	e := executor.Envelope{
		Step: id, Outcome: o, FailureClass: c.Class(), Attempts: end.Attempts, Latency: end.Latency, Model: end.Model, Usage: end.Usage,
	}
	if end.Prompted {
		e.Prompt = sha
	}
	return e
}

// joinEnds is the end of a for_each step: attempts and usage summed, the longest latency, what the worst item says of the rest.
func joinEnds(items []runstate.StepRecord) runstate.StepEnd {
	var all runstate.StepEnd
	var worst executor.Outcome
	for _, it := range items {
		if it.Outcome > worst {
			worst = it.Outcome
			all.Model, all.Provider, all.ErrorKind, all.Reason = it.End.Model, it.End.Provider, it.End.ErrorKind, it.End.Reason
		}
		all.Attempts += it.End.Attempts
		all.Usage = all.Usage.Add(it.End.Usage)
		all.Latency = max(all.Latency, it.End.Latency)
		all.Prompted = all.Prompted || it.End.Prompted
	}
	return all
}

func countItems(items []runstate.StepRecord) *Counts {
	var c Counts
	for _, it := range items {
		if it.State != runstate.StepDone {
			continue
		}
		switch it.Outcome {
		case executor.OutcomeAbstained:
			c.Abstained++
		case executor.OutcomeOK:
			c.OK++
		case executor.OutcomeDegraded:
			c.Degraded++
		case executor.OutcomeFailed:
			c.Failed++
		case executor.OutcomeNone:
		}
	}
	return &c
}

// valuesOf lists the steps whose values are asked for: those that have ended with one.
func (s Status) valuesOf(v Values, snap runstate.Snapshot) []int {
	var want []int
	for i, rec := range snap.Steps {
		has := rec.State == runstate.StepDone && rec.Outcome != executor.OutcomeFailed
		if has && (v == AllValues || v == SinkValues && rec.Sink) {
			want = append(want, i)
		}
	}
	return want
}

func (s *Status) setValues(got map[int][]byte) {
	if len(got) == 0 {
		return
	}
	s.Values = make(map[executor.StepID]content.Of[json.RawMessage], len(got))
	for _, i := range slices.Sorted(maps.Keys(got)) {
		s.Values[s.Steps[i].Step] = content.New(json.RawMessage(got[i]))
	}
}
