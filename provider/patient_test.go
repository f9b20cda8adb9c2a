package provider_test

import (
	"testing"

	"fourfold/provider"
)

func TestPatientChainMovesOnOnlyAfterWhatAskingAgainCannotCure(t *testing.T) {
	for _, c := range []struct {
		signal provider.Signal
		want   bool
	}{
		{provider.Signal{Seen: provider.SeenStatus, Status: 429}, false},
		{provider.Signal{Seen: provider.SeenStatus, Status: 500}, false},
		{provider.Signal{Seen: provider.SeenStatus, Status: 503}, false},
		{provider.Signal{Seen: provider.SeenNetwork}, false},
		{provider.Signal{Seen: provider.SeenNoAnswer}, false},
		{provider.Signal{Seen: provider.SeenTimeout}, true},
		{provider.Signal{Seen: provider.SeenFirstTokenTimeout}, true},
		{provider.Signal{Seen: provider.SeenBreakerOpen}, true},
		{provider.Signal{Seen: provider.SeenStatus, Status: 404}, true},
		{provider.Signal{Seen: provider.SeenStatus, Status: 429, Codes: []string{"insufficient_quota"}}, true},
		{provider.Signal{Seen: provider.SeenStatus, Status: 500, NoRetry: true}, true},
		{provider.Signal{Seen: provider.SeenStatus, Status: 400, Codes: []string{"context_length_exceeded"}}, true},
		{provider.Signal{Seen: provider.SeenStatus, Status: 400, Codes: []string{"content_policy_violation"}}, false},
		{provider.Signal{Seen: provider.SeenStatus, Status: 400}, false},
		{provider.Signal{Seen: provider.SeenStatus, Status: 401}, false},
		{provider.Signal{Seen: provider.SeenEmpty}, false},
		{provider.Signal{Seen: provider.SeenAborted}, false},
	} {
		e := provider.Judge(c.signal)
		if got := provider.Patient(e); got != c.want {
			t.Errorf("%v (%v): %v, want %v", c.signal, e, got, c.want)
		}
	}
}
