// Package providertest is the conformance suite for clients of package provider: what chains, guards and the executor rely on.
//
// A client's test makes a [Fixture] of clients in known surroundings, mostly against a server of the test's own, and hands it over:
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, func(t *testing.T) providertest.Fixture {
//			return providertest.Fixture{Answers: …, Hangs: …, Fails: …, Canary: "…"}
//		})
//	}
//
// The suite measures no time: a client that does not end when its context does is found because the test never ends.
package providertest
