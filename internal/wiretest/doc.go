// Package wiretest holds what the tests of the clients over HTTP share: the conformance suite of package providertest before
// a fault server that speaks the client's API, and the rule that errors of a configuration quote nothing of it.
//
//	func TestConformance(t *testing.T) {
//		wiretest.Conformance(t, speech, func(url string) (provider.Client, error) { return New(Config{BaseURL: url}) })
//	}
package wiretest
