package provider

// Patient is a rule for FallbackWhen: it asks the same provider again after what a moment may cure (a rate limit, a server's
// error, a broken connection), in the next attempt, and moves on at once after what asking again cannot cure (silence, a
// missing model, an empty purse) and after a request that only a model with a longer context can take. When the failures go on,
// the provider's breaker opens and the chain moves on: so a patient chain wants breakers that open after two or three
// failures, and steps of one attempt more than that.
//
// The table alone is eager: it moves on after any of these, which answers sooner, and books the answer on another model.
func Patient(e Error) bool {
	switch {
	case e.Reason() == ReasonContextLength:
		return true
	case e.Reason() != ReasonNone || !e.NextAttempt():
		return e.NextProvider()
	}
	switch e.Kind() {
	case KindNetwork, KindRateLimit, KindProviderError:
		return false
	case KindNone, KindAuth, KindInvalidRequest, KindModelUnavailable, KindOutputValidation:
	}
	return e.NextProvider()
}
