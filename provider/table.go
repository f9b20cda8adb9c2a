package provider

import (
	"slices"
	"strings"

	"fourfold/executor"
)

// verdict is the right half of the decision table: what follows from a signal.
type verdict struct {
	kind   Kind
	reason Reason
	next   answer // may the chain ask the next provider in this attempt?
	again  answer // may the executor make another attempt?
	class  executor.FailureClass
}

type answer bool

const (
	yes answer = true
	no  answer = false
)

// The classes under short names, so that the table fits the page.
const (
	timeout = executor.ClassTimeout
	parse   = executor.ClassParse
	schema  = executor.ClassSchema
	up5xx   = executor.ClassUpstream5xx
	up4xx   = executor.ClassUpstream4xx
)

// events is the table of what is no HTTP error.
var events = map[Seen]verdict{
	// what was seen          kind                  reason                   next  again class
	SeenNetwork:           {KindNetwork, ReasonNone, yes, yes, up5xx},
	SeenCut:               {KindNetwork, ReasonNone, yes, yes, up5xx},
	SeenTimeout:           {KindNetwork, ReasonTimeout, yes, yes, timeout},
	SeenFirstTokenTimeout: {KindNetwork, ReasonFirstTokenTimeout, yes, yes, timeout},
	SeenIdleTimeout:       {KindNetwork, ReasonIdleTimeout, yes, yes, timeout},
	SeenAborted:           {KindNetwork, ReasonAborted, no, no, timeout},
	SeenNoAnswer:          {KindProviderError, ReasonNone, yes, yes, parse},
	SeenOversize:          {KindProviderError, ReasonNone, yes, yes, parse},
	SeenMalformedEvent:    {KindNetwork, ReasonNone, yes, yes, parse},
	SeenBreakerOpen:       {KindProviderError, ReasonBreakerOpen, yes, yes, up5xx},
	SeenClosed:            {KindRateLimit, ReasonBreakerOpen, yes, yes, up4xx},
	SeenIncapable:         {KindInvalidRequest, ReasonCapability, no, no, up4xx},
	SeenEmpty:             {KindOutputValidation, ReasonEmpty, no, yes, parse},
	SeenNotJSON:           {KindOutputValidation, ReasonNotJSON, no, yes, parse},
	SeenMalformedToolCall: {KindOutputValidation, ReasonToolCalls, no, yes, parse},
	SeenTruncated:         {KindOutputValidation, ReasonTruncated, no, no, parse},
	SeenRefusal:           {KindOutputValidation, ReasonRefusal, no, no, schema},
	SeenContentFilter:     {KindOutputValidation, ReasonContentFilter, no, no, schema},
	SeenToolCalls:         {KindOutputValidation, ReasonToolCalls, no, no, schema},
	SeenSchemaViolation:   {KindOutputValidation, ReasonSchema, no, no, schema},
}

// row is one line of the table of HTTP answers and error objects: it holds for the statuses at, when one of its words (codes or
// texts, by the part of the table; nil: any) is met.
type row struct {
	at    []span
	words []string
	verdict
}

// The table of HTTP answers and error objects has three parts. Codes come before texts and both before the bare status, because
// gateways wrap one provider's failure in another's status. Within a part the first row that holds decides.
var (
	byCode = []row{
		// statuses        codes            kind                  reason               next again class
		{is(429), quotaCodes, verdict{KindRateLimit, ReasonQuota, yes, no, up4xx}},
		{any4xx, quotaCodes, verdict{KindProviderError, ReasonQuota, yes, no, up4xx}},
		{any4xx, modelCodes, verdict{KindModelUnavailable, ReasonNone, yes, no, up4xx}},
		{any4xx, keyCodes, verdict{KindAuth, ReasonNone, no, no, up4xx}},
		{any4xx, contextCodes, verdict{KindInvalidRequest, ReasonContextLength, no, no, up4xx}},
		{any4xx, filterCodes, verdict{KindInvalidRequest, ReasonContentFilter, no, no, up4xx}},
		{any4xx, paramCodes, verdict{KindInvalidRequest, ReasonUnsupportedParam, no, no, up4xx}},
		// One request larger than a minute's whole allowance: waiting cannot help, another provider can.
		{is(413), rateCodes, verdict{KindRateLimit, ReasonNone, yes, no, up4xx}},
		{is(400, 403), rateCodes, verdict{KindRateLimit, ReasonNone, yes, yes, up4xx}},
	}
	byText = []row{
		// statuses             texts         kind              reason       next again class
		{is(429), dailyTexts, verdict{KindRateLimit, ReasonQuota, yes, no, up4xx}},
		{is(429), spendTexts, verdict{KindRateLimit, ReasonQuota, yes, no, up4xx}},
		{is(400, 403), spendTexts, verdict{KindProviderError, ReasonQuota, yes, no, up4xx}},
		{is(400, 403, 422), modelTexts, verdict{KindModelUnavailable, ReasonNone, yes, no, up4xx}},
		{is(400), keyTexts, verdict{KindAuth, ReasonNone, no, no, up4xx}},
		{is(400, 413, 422), contextTexts, verdict{KindInvalidRequest, ReasonContextLength, no, no, up4xx}},
		{is(400, 403, 422), filterTexts, verdict{KindInvalidRequest, ReasonContentFilter, no, no, up4xx}},
		{is(400, 422), paramTexts, verdict{KindInvalidRequest, ReasonUnsupportedParam, no, no, up4xx}},
	}
	byStatus = []row{
		// statuses              words        kind                  reason      next again class
		// A gateway that wraps its upstream's failure in a status of its own still says so in the type.
		{is(400, 403), serverCodes, verdict{KindProviderError, ReasonNone, yes, yes, up4xx}},
		{to(100, 299), nil, verdict{KindProviderError, ReasonNone, yes, yes, parse}},
		{to(300, 399), nil, verdict{KindProviderError, ReasonNone, yes, no, up5xx}},
		{is(401, 403, 407), nil, verdict{KindAuth, ReasonNone, no, no, up4xx}},
		{is(402), nil, verdict{KindProviderError, ReasonQuota, yes, no, up4xx}},
		{is(404, 410), nil, verdict{KindModelUnavailable, ReasonNone, yes, no, up4xx}},
		{is(408, 409, 425, 499), nil, verdict{KindProviderError, ReasonNone, yes, yes, up4xx}},
		{is(429), nil, verdict{KindRateLimit, ReasonNone, yes, yes, up4xx}},
		{to(400, 499), nil, verdict{KindInvalidRequest, ReasonNone, no, no, up4xx}},
	}
	// otherwise is for 500 and above, and for error objects of no known status or type.
	otherwise = verdict{KindProviderError, ReasonNone, yes, yes, up5xx}
)

// span is a range of statuses, both ends included. Status 0 is an error object of which no status is known.
type span struct{ from, to int }

// any4xx is where a code is believed: every 4xx, and an error object that has a code but no status.
var any4xx = []span{{0, 0}, {400, 499}}

func is(statuses ...int) []span {
	spans := make([]span, len(statuses))
	for i, status := range statuses {
		spans[i] = span{status, status}
	}
	return spans
}

func to(from, to int) []span { return []span{{from, to}} }

func (r row) covers(status int) bool {
	return slices.ContainsFunc(r.at, func(s span) bool { return s.from <= status && status <= s.to })
}

// Judge says what a failed call means. It is the one place where that is decided.
func Judge(s Signal) Error {
	v, known := events[s.Seen]
	if !known {
		v = s.answered()
	}
	if s.AfterFirstToken {
		v.next = no
	}
	return newError(fault{
		provider: s.Provider, status: s.Status, retryAfter: max(s.RetryAfter, 0), hasAfter: s.HasRetryAfter, verdict: v, cause: s.Cause,
	})
}

// answered judges an HTTP answer or an error object, and settles its status.
func (s *Signal) answered() verdict {
	codes := make([]string, len(s.Codes))
	for i, code := range s.Codes {
		codes[i] = strings.ToLower(code)
	}
	if s.Seen == SeenInBand && (s.Status < 400 || s.Status > 599) {
		s.Status = statusOf(codes)
	}
	v := lookUp(s.Status, codes, strings.ToLower(s.Message))
	if s.NoRetry {
		v.again = no
	}
	return v
}

func lookUp(status int, codes []string, message string) verdict {
	coded := func(words []string) bool {
		return slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(words, code) })
	}
	worded := func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(message, word) })
	}
	for _, r := range byCode {
		if r.covers(status) && coded(r.words) {
			return r.verdict
		}
	}
	for _, r := range byText {
		if r.covers(status) && worded(r.words) {
			return r.verdict
		}
	}
	for _, r := range byStatus {
		if r.covers(status) && (r.words == nil || coded(r.words)) {
			return r.verdict
		}
	}
	return otherwise
}
