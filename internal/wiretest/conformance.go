package wiretest

import (
	"fmt"
	"strings"
	"testing"

	"fourfold/internal/faultserver"
	"fourfold/provider"
	"fourfold/provider/providertest"
)

// Speech is how one API says the few things that the conformance suite needs. Every field is required.
type Speech struct {
	Whole   string   // a text
	Pieces  []string // the same text as a stream, one event each; the first shows a token
	Empty   string   // an answer without a word
	Refusal string   // an error's body, with %s in its message
}

// Conformance runs the suite against clients that newClient makes for the address of a server, which has no path. They are
// asked for text, and may say that they stream.
func Conformance(t *testing.T, says Speech, newClient func(url string) (provider.Client, error)) {
	t.Helper()
	providertest.Run(t, func(t *testing.T) providertest.Fixture {
		t.Helper()
		return says.fixture(func(script faultserver.Script) provider.Client { return behind(t, script, newClient) })
	})
}

func behind(t *testing.T, script faultserver.Script, newClient func(url string) (provider.Client, error)) provider.Client {
	t.Helper()
	s, err := faultserver.Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := newClient(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s Speech) fixture(behind func(faultserver.Script) provider.Client) providertest.Fixture {
	always := func(a faultserver.Answer) provider.Client {
		return behind(func(faultserver.Request) faultserver.Answer { return a })
	}
	refuses := func(status int) provider.Client {
		return always(faultserver.JSON(status, fmt.Sprintf(s.Refusal, providertest.CanaryText)))
	}
	return providertest.Fixture{
		Answers: behind(func(r faultserver.Request) faultserver.Answer {
			if strings.Contains(r.Header.Get("Accept"), "event-stream") {
				return faultserver.Events(s.Pieces...)
			}
			return faultserver.JSON(200, s.Whole)
		}),
		Hangs:  always(faultserver.Answer{Mode: faultserver.HangBeforeHeaders}),
		Breaks: always(faultserver.Events(s.Pieces[0]).With(faultserver.Reset)),
		Fails: map[provider.Kind]provider.Client{
			provider.KindNetwork:          always(faultserver.Answer{Mode: faultserver.ResetBeforeHeaders}),
			provider.KindRateLimit:        refuses(429),
			provider.KindAuth:             refuses(401),
			provider.KindInvalidRequest:   refuses(400),
			provider.KindModelUnavailable: refuses(404),
			provider.KindProviderError:    refuses(500),
			provider.KindOutputValidation: always(faultserver.JSON(200, s.Empty)),
		},
	}
}
