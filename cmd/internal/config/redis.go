package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// parseRedisURL reads an address. Its errors never quote it: it may hold a password.
// Further nodes (addr=) make it a cluster, a master's name (master_name=) a set of sentinels, as go-redis has it.
func parseRedisURL(s string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("must be an address such as redis://127.0.0.1:6379/0")
	}
	switch u.Scheme {
	case "redis", "rediss", "unix":
	default:
		return nil, errors.New("must begin with redis://, rediss:// or unix://")
	}
	query := u.Query()
	unclear := errors.New("cannot be understood: check port, database and parameters")
	switch {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(s)
		if err != nil {
			return nil, unclear
		}
		return &redis.UniversalOptions{
			MasterName: o.MasterName, Addrs: o.SentinelAddrs, SentinelUsername: o.SentinelUsername,
			SentinelPassword: o.SentinelPassword, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
		}, nil
	case query.Has("addr"):
		o, err := redis.ParseClusterURL(s)
		if err != nil {
			return nil, unclear
		}
		return &redis.UniversalOptions{Addrs: o.Addrs, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig, IsClusterMode: true}, nil
	}
	o, err := redis.ParseURL(s)
	if err != nil {
		return nil, unclear
	}
	// UniversalOptions has no network: an address that begins with a slash is a socket (see dialUnix).
	return &redis.UniversalOptions{Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig}, nil
}

// Use says what a process does with Redis, which decides how patient its client is.
type Use uint8

// A worker rides out an outage; a command line says soon that Redis is not there.
const (
	ForWorker Use = iota
	ForCommand
)

// Client connects to Redis, lazily: no error means that the settings are good, not that Redis answers.
// The caller closes it.
func (r Redis) Client(use Use, concurrency int, env Env) (redis.UniversalClient, error) {
	o, err := r.options(env)
	if err != nil {
		return nil, err
	}
	o.ClientName = "fourfold"
	o.DialTimeout = 2 * time.Second
	o.ReadTimeout = 2 * time.Second // short: a silent Redis must not outlast a claim
	if r.ReadTimeout > 0 {
		o.ReadTimeout = r.ReadTimeout.Std()
	}
	o.WriteTimeout = o.ReadTimeout
	o.MinRetryBackoff, o.MaxRetryBackoff = 50*time.Millisecond, 1500*time.Millisecond
	o.MaxRetries = 10
	o.PoolSize = max(10, concurrency/4+10)
	if use == ForCommand {
		o.MaxRetries, o.MaxRetryBackoff = 2, 200*time.Millisecond
	}
	if r.PoolSize > 0 {
		o.PoolSize = r.PoolSize
	}
	o.ContextTimeoutEnabled = true
	if addr := o.Addrs[0]; len(o.Addrs) == 1 && strings.HasPrefix(addr, "/") {
		simple := o.Simple()
		simple.Network = "unix"
		return redis.NewClient(simple), nil
	}
	return redis.NewUniversalClient(o), nil
}

func (r Redis) options(env Env) (*redis.UniversalOptions, error) {
	var o *redis.UniversalOptions
	switch {
	case r.Cluster != nil:
		o = &redis.UniversalOptions{Addrs: r.Cluster.Addrs, IsClusterMode: true}
	case r.Sentinel != nil:
		password, err := secret("redis.sentinel", r.Sentinel.PasswordEnv, r.Sentinel.PasswordFile, env)
		if err != nil {
			return nil, err
		}
		o = &redis.UniversalOptions{
			MasterName: r.Sentinel.Master, Addrs: r.Sentinel.Addrs, DB: r.DB,
			SentinelUsername: r.Sentinel.Username, SentinelPassword: password,
		}
	default:
		var err error
		if o, err = parseRedisURL(r.URL); err != nil {
			return nil, fmt.Errorf("redis.url: %w", err)
		}
	}
	if r.Username != "" {
		o.Username = r.Username
	}
	password, err := secret("redis", r.PasswordEnv, r.PasswordFile, env)
	if err != nil {
		return nil, err
	}
	if password != "" {
		o.Password = password
	}
	return o, r.TLS.lay(o)
}

// lay puts the TLS block over what the address said.
func (t *TLS) lay(o *redis.UniversalOptions) error {
	if t == nil {
		return nil
	}
	if o.TLSConfig == nil {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if t.ServerName != "" {
		o.TLSConfig.ServerName = t.ServerName
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return fmt.Errorf("redis.tls.ca_file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return errors.New("redis.tls.ca_file: holds no certificate in PEM form")
		}
		o.TLSConfig.RootCAs = pool
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return errors.New("redis.tls: cert_file and key_file are not a pair that can be read")
		}
		o.TLSConfig.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// Place says where Redis is, without user and password.
func (r Redis) Place() string {
	switch {
	case r.Cluster != nil:
		return "cluster " + strings.Join(r.Cluster.Addrs, ", ")
	case r.Sentinel != nil:
		return "master " + r.Sentinel.Master + " of sentinels " + strings.Join(r.Sentinel.Addrs, ", ")
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return "unreadable address"
	}
	if u.Scheme == "unix" {
		return u.Path
	}
	return u.Scheme + "://" + u.Host + u.Path
}
