package config

import (
	"maps"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml"
)

const redacted = "redacted"

// Redacted is the file as it is in force, as YAML, without a secret: passwords in addresses and the values of
// headers and query parameters are replaced.
func (f *File) Redacted() ([]byte, error) {
	c := *f
	c.Redis.URL = redactURL(c.Redis.URL)
	if c.Traces != nil { // a refused address may hold a password
		c.Traces = &Traces{OTLPEndpoint: redactURL(c.Traces.OTLPEndpoint), Sample: c.Traces.Sample}
	}
	c.Providers = maps.Clone(c.Providers)
	for name, p := range c.Providers {
		p.Headers, p.Query = redactValues(p.Headers), redactValues(p.Query)
		c.Providers[name] = p
	}
	return yaml.MarshalWithOptions(c, yaml.Indent(2), yaml.IndentSequence(true))
}

func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return redacted
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), redacted)
	}
	query := u.Query()
	for k := range query {
		if strings.Contains(k, "password") {
			query.Set(k, redacted)
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func redactValues(m map[string]string) map[string]string {
	c := maps.Clone(m)
	for k := range c {
		c[k] = redacted
	}
	return c
}
