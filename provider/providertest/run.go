package providertest

import (
	"context"
	"testing"

	"fourfold/content"
	"fourfold/provider"
)

// Fixture is what a client is tested with.
type Fixture struct {
	// Answers is a client that answers Request in good order. Required.
	Answers provider.Client
	// Hangs is a client whose provider takes the question and says nothing. Required.
	Hangs provider.Client
	// Fails are clients that fail, by the kind of their error. Required: at least one.
	Fails map[provider.Kind]provider.Client
	// Breaks is a client whose stream breaks off after a token. Nil: the client never streams piece by piece.
	Breaks provider.Client
	// Request is what they are asked. Its zero value stands for a short prompt that holds Canary.
	Request provider.Request
	// Canary is a text that the failing providers say, in bodies and messages, and that must appear in no error. Empty:
	// CanaryText.
	Canary string
}

// CanaryText is the canary of fixtures that name none.
const CanaryText = "canary-5d1f0c"

// Run runs the suite. fixture is called for each test of it, and may register clean-ups.
func Run(t *testing.T, fixture func(t *testing.T) Fixture) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(t, fixture(t).complete()) })
	}
}

// complete fills in what the fixture leaves to the suite.
func (f Fixture) complete() Fixture {
	if f.Canary == "" {
		f.Canary = CanaryText
	}
	if f.Request.Prompt.IsZero() {
		f.Request.Prompt = content.New("Say something about " + f.Canary + ".")
	}
	return f
}

// reporter is the part of *testing.T that the checks use, so that their own tests can see them fail.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Context() context.Context
}

// checks is the suite. The names complete the sentence "a client ...".
var checks = []struct {
	name string
	run  func(reporter, Fixture)
}{
	{"comes with a whole fixture", wholeFixture},
	{"keeps its name and capabilities", steady},
	{"answers with a text, and says who", completes},
	{"streams the same answer that it ends with, and ends once", streams},
	{"leaves the request as it was", leavesRequest},
	{"answers many at once", concurrent},
	{"makes no call on an ended context", endedContext},
	{"ends when its context does", contextEnds},
	{"fails by kind", fails},
	{"says nothing of what was said", contentFree},
	{"breaks off with one error that moves nobody on", breaksOff},
	{"can be left in the middle of a stream", canBeLeft},
}
