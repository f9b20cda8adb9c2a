package provider_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"fourfold/provider"
)

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const none = -1
	for _, c := range []struct {
		after, ms string
		want      time.Duration
	}{
		{"", "", none},
		{"0", "", 0},
		{"47", "", 47 * time.Second},
		{" 47 ", "", 47 * time.Second},
		{"0.5", "", 500 * time.Millisecond},
		{".5", "", 500 * time.Millisecond},
		{"2.", "", 2 * time.Second},
		{"198300", "", 198300 * time.Second},
		{now.Add(2 * time.Second).Format(http.TimeFormat), "", 2 * time.Second},
		{now.Add(90 * time.Minute).Format(time.RFC850), "", 90 * time.Minute},
		{now.Add(3 * time.Second).Format(time.ANSIC), "", 3 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), "", 0},
		{"Fri, 02 Jan 2099 03:04:05 GMT", "", 366 * 24 * time.Hour},
		{"99999999999999999999999999", "", 366 * 24 * time.Hour},
		{"soon", "", none},
		{"-5", "", none},
		{"+5", "", none},
		{"NaN", "", none},
		{"Inf", "", none},
		{"1e3", "", none},
		{"0x10", "", none},
		{"1_000", "", none},
		{"1.2.3", "", none},
		{".", "", none},
		{"5s", "", none},
		{"5, 6", "", none},
		{"2026-01-02T03:04:07Z", "", none},
		{"", "1500", 1500 * time.Millisecond},
		{"", "0.5", 500 * time.Microsecond},
		{"47", "1500", 1500 * time.Millisecond}, // the finer one
		{"47", "soon", 47 * time.Second},
		{"soon", "-1", none},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.after)
		h.Set("Retry-After-Ms", c.ms)
		got, ok := provider.RetryAfterFrom(h, now)
		if want := max(c.want, 0); got != want || ok != (c.want != none) {
			t.Errorf("Retry-After %q, retry-after-ms %q: %v, %t; want %v", c.after, c.ms, got, ok, c.want)
		}
	}
}

func TestRetryAfterReachesTheExecutor(t *testing.T) {
	const retryInfo = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":%q}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":%q}]}}`
	for _, c := range []struct {
		name, header, body string
		want               time.Duration
		says               string
	}{
		{"header", "2", "", 2 * time.Second, rateLimit},
		{"body", "", fmt.Sprintf(retryInfo, "RequestsPerMinute", "45.837906927s"), 45837906927, rateLimit},
		{"header before body", "1", fmt.Sprintf(retryInfo, "RequestsPerMinute", "2s"), time.Second, rateLimit},
		{"day", "", fmt.Sprintf(retryInfo, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "2s"), 2 * time.Second, noQuota},
		{"two", "", fmt.Sprintf(retryInfo, "", "2s")[:len(fmt.Sprintf(retryInfo, "", "2s"))-3] + `,{"retryDelay":"9s"}]}}`, 2 * time.Second, rateLimit},
		{"garbage", "", fmt.Sprintf(retryInfo, "", "2 minutes"), 0, rateLimit},
		{"list", "", "[" + fmt.Sprintf(retryInfo, "", "2s") + "]", 2 * time.Second, rateLimit},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.header)
		e := provider.Judge(provider.FromHTTP(429, h, []byte(c.body), time.Now()))
		after, ok := e.RetryAfter()
		if after != c.want || ok != (c.want != 0) || e.Failure().RetryAfter != c.want || says(e) != c.says {
			t.Errorf("%s: %v, %t, the executor hears %v; want %v. %s", c.name, after, ok, e.Failure().RetryAfter, c.want, says(e))
		}
	}
	if e := provider.Judge(provider.Signal{RetryAfter: -1, HasRetryAfter: true}); e.Failure().RetryAfter != 0 {
		t.Error("a wait below nothing")
	}
}
