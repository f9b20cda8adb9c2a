package telemetry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
	"fourfold/telemetry/telemetrytest"
)

// identifiers have nothing to export but are comparable.
var identifiers = cmp.Options{
	cmp.Comparer(func(a, b executor.StepID) bool { return a == b }),
	cmp.Comparer(func(a, b executor.ModelVersion) bool { return a == b }),
	cmp.Comparer(func(a, b executor.Usage) bool { return a == b }),
	cmp.Comparer(func(a, b provider.Name) bool { return a == b }),
	cmp.Comparer(func(a, b provider.ModelProvider) bool { return a == b }),
}

func TestMultiTellsEachObserverEverything(t *testing.T) {
	var alone, first, second telemetrytest.Recorder
	tellEverything(&alone)
	tellEverything(telemetry.Multi(&first, nil, telemetry.Discard, &second))
	for _, r := range []*telemetrytest.Recorder{&first, &second} {
		if diff := cmp.Diff(alone.Told(), r.Told(), identifiers); diff != "" {
			t.Errorf("-alone +multi:\n%s", diff)
		}
	}
}

func TestMultiOfNoneIsDiscard(t *testing.T) {
	for _, o := range []telemetry.Observer{telemetry.Multi(), telemetry.Multi(nil, nil)} {
		if o != telemetry.Discard {
			t.Errorf("%T", o)
		}
		tellEverything(o)
	}
	var only telemetrytest.Recorder
	if telemetry.Multi(nil, &only) != telemetry.Observer(&only) {
		t.Error("one observer is wrapped")
	}
}
