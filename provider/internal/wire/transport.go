package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"fourfold/content"
)

// Config says where a provider is and how it is reached. BaseURL is required.
type Config struct {
	BaseURL string            // http or https, with the API's path prefix; no user, query or fragment
	Headers map[string]string // sent with every call
	Query   map[string]string // added to every URL

	// AuthHeader and Key are the header that carries the key. A zero Key sends none.
	AuthHeader string
	AuthPrefix string // "Bearer " or empty
	Key        content.Of[string]

	Connections   int           // kept open for reuse; zero means DefaultConnections
	HeaderTimeout time.Duration // from request sent to headers read; zero: the call's context alone bounds it
	CAFile        string        // PEM file of roots trusted besides the system's; empty: none
	Proxy         string        // URL of a proxy; empty: none, whatever the environment says
}

// DefaultConnections is how many connections are kept open for reuse when the configuration does not say.
const DefaultConnections = 64

const (
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
	// idleTimeout is shorter than the 60 s after which common servers and balancers close an idle connection, so
	// that a call rarely meets a connection that is just being closed.
	idleTimeout    = 50 * time.Second
	pingAfter      = 20 * time.Second // HTTP/2: a silent connection is pinged, and dropped when that is not answered
	pingTimeout    = 10 * time.Second
	maxHeaderBytes = 256 << 10
	// A connection of HTTP/1 holds its buffers for as long as a call waits. What is larger than them goes around them.
	readBuffer  = 2 << 10
	writeBuffer = 1 << 10
)

// Transport makes calls to one provider: one Post is at most one request that the provider works on. It follows no
// redirect, sends no cookie, reads no environment, and keeps nothing of a body.
type Transport struct {
	rt     *http.Transport
	base   *url.URL
	query  string
	header content.Of[http.Header] // holds the key
	// replay is false when a configured header would make net/http send a request again that may have been worked on.
	replay bool
}

// NewTransport checks the configuration. Its errors name the field and never quote a value.
func NewTransport(cfg Config) (*Transport, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	header, err := headerOf(cfg)
	if err != nil {
		return nil, err
	}
	rt, err := roundTripper(cfg)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for k, v := range cfg.Query {
		query.Set(k, v)
	}
	replay := !header.has("Idempotency-Key") && !header.has("X-Idempotency-Key")
	return &Transport{rt: rt, base: base, query: query.Encode(), header: content.New(http.Header(header)), replay: replay}, nil
}

func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("base URL: must be an absolute http or https URL")
	case u.User != nil:
		return nil, errors.New("base URL: must not hold a user or password; use the key")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base URL: must not hold a query or fragment; use the query setting")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

type headers http.Header

func (h headers) has(name string) bool { _, ok := h[http.CanonicalHeaderKey(name)]; return ok }

func headerOf(cfg Config) (headers, error) {
	h := headers{"Content-Type": {"application/json"}, "User-Agent": {"fourfold"}}
	for name, value := range cfg.Headers {
		if !validHeaderName(name) || !validHeaderValue(value) {
			return nil, errors.New("headers: a name or value holds characters that HTTP does not allow")
		}
		h[http.CanonicalHeaderKey(name)] = []string{value}
	}
	if key := cfg.Key.Reveal(); key != "" {
		if !validHeaderValue(key) {
			return nil, errors.New("key: holds characters that a header cannot carry (a line break at its end?)")
		}
		h[http.CanonicalHeaderKey(cfg.AuthHeader)] = []string{cfg.AuthPrefix + key}
	}
	return h, nil
}

func validHeaderName(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func validHeaderValue(s string) bool {
	for _, c := range []byte(s) {
		if (c < ' ' && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}

func roundTripper(cfg Config) (*http.Transport, error) {
	roots, err := rootsWith(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	rt := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true, // setting a dialer or TLS configuration would otherwise switch it off
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConnsPerHost:    cfg.Connections,
		IdleConnTimeout:        idleTimeout,
		ResponseHeaderTimeout:  cfg.HeaderTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         readBuffer,
		WriteBufferSize:        writeBuffer,
	}
	if rt.MaxIdleConnsPerHost <= 0 {
		rt.MaxIdleConnsPerHost = DefaultConnections
	}
	if cfg.Proxy != "" {
		proxy, err := url.Parse(cfg.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("proxy: must be an absolute URL")
		}
		rt.Proxy = http.ProxyURL(proxy)
	}
	return rt, nil
}

// rootsWith returns nil, which means the system's roots, when no file is named.
func rootsWith(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.New("CA file: cannot be read")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("CA file: holds no certificate")
	}
	return pool, nil
}

// Post sends one request and returns when the headers are there. The caller closes the body; when ctx ends, the
// connection is closed under it. path is appended to the base URL and may hold a query of its own. The error is
// net/http's and may hold addresses: it is for classifying, never for printing.
func (t *Transport) Post(ctx context.Context, path string, body []byte, accept string) (*http.Response, error) {
	header := t.header.Reveal().Clone()
	header.Set("Accept", accept)
	req := &http.Request{
		Method:        http.MethodPost,
		URL:           t.url(path),
		Header:        header,
		Host:          t.base.Host,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}
	if t.replay {
		// With GetBody net/http dials again when the pooled connection turns out dead before a byte was written, or when
		// an HTTP/2 peer says that it did not look at the request. A POST that may have been seen is never sent twice.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	// The round tripper, not http.Client: no redirects, no cookies, no error that quotes the URL.
	return t.rt.RoundTrip(req.WithContext(ctx))
}

func (t *Transport) url(path string) *url.URL {
	u := *t.base
	path, query, _ := strings.Cut(path, "?")
	u.Path += path
	if u.RawPath != "" {
		u.RawPath += path
	}
	switch {
	case query == "":
		u.RawQuery = t.query
	case t.query == "":
		u.RawQuery = query
	default:
		u.RawQuery = query + "&" + t.query
	}
	return &u
}

// Close closes the connections that no call uses.
func (t *Transport) Close() { t.rt.CloseIdleConnections() }
