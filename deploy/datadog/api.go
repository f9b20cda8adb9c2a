package datadog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DefaultSite is Datadog's own default.
const DefaultSite = "datadoghq.com"

const (
	requestWithin = 30 * time.Second
	longestAnswer = 16 << 20
	tries         = 4
	longestPause  = time.Minute
)

var siteName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// API is the part of Datadog's API that the installer needs.
type API struct {
	base   string
	key    string
	appKey string
	client *http.Client
}

// NewAPI returns the API of a site (empty: DefaultSite). Both keys are required; they are sent to that site alone.
func NewAPI(site, key, appKey string) (*API, error) {
	if site == "" {
		site = DefaultSite
	}
	if !siteName.MatchString(site) {
		return nil, errors.New("DD_SITE must be a host name such as " + DefaultSite)
	}
	if key == "" || appKey == "" {
		return nil, errors.New("DD_API_KEY and DD_APP_KEY must be set")
	}
	return newAPI("https://api."+site, key, appKey), nil
}

func newAPI(base, key, appKey string) *API {
	return &API{base, key, appKey, &http.Client{
		Timeout: requestWithin,
		// A redirect could carry the keys elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// StatusError is an answer of the API other than success.
type StatusError struct {
	Method, Path string
	Status       int
	Errors       []string // what the API says about it
}

// Error names the request and what the API said; never a key.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: HTTP %d", e.Method, e.Path, e.Status)
	if len(e.Errors) > 0 {
		text += ": " + strings.Join(e.Errors, "; ")
	}
	return text
}

// call sends body (nil: none) and decodes the answer into answer (nil: ignored). It tries again when the API is busy.
func (a *API) call(ctx context.Context, method, path string, body []byte, answer any) error {
	for try := 1; ; try++ {
		err := a.once(ctx, method, path, body, answer)
		var busy *busyError
		if !errors.As(err, &busy) {
			return err
		}
		if try == tries {
			return busy.err
		}
		timer := time.NewTimer(busy.pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// busyError is a StatusError after which the request may be sent again.
type busyError struct {
	err   *StatusError
	pause time.Duration
}

func (b *busyError) Error() string { return b.err.Error() }

func (a *API) once(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("DD-API-KEY", a.key)
	req.Header.Set("DD-APPLICATION-KEY", a.appKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longestAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return refused(method, path, res, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: the answer is not what was expected: %w", method, path, err)
	}
	return nil
}

func refused(method, path string, res *http.Response, text []byte) error {
	said := struct{ Errors []string }{}
	_ = json.Unmarshal(text, &said) // without it the status must do
	err := &StatusError{method, path, res.StatusCode, said.Errors}
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		pause := time.Second
		if n, e := strconv.Atoi(res.Header.Get("X-RateLimit-Reset")); e == nil && n >= 0 {
			pause = min(time.Duration(n)*time.Second, longestPause)
		}
		return &busyError{err, pause}
	case res.StatusCode >= http.StatusInternalServerError && method != http.MethodPost: // a POST may have made something
		return &busyError{err, time.Second}
	}
	return err
}
