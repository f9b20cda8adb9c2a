package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An Option changes how a server is started.
type Option func(*config) error

type config struct {
	dir      string
	args     []string
	user     string
	admin    string // user and password that Admin uses; empty: the default user
	password string
	tls      *tls.Config // of clients; nil: plain TCP
	certs    string      // folder of the certificate that a cluster's nodes share; empty: dir
	cluster  bool
}

// Args hands further words to redis-server: Args("--maxmemory", "2mb").
func Args(words ...string) Option {
	return func(c *config) error {
		c.args = append(c.args, words...)
		return nil
	}
}

// Persistent writes every change to an append-only file before it is answered, so that what was acknowledged survives
// Kill and Restart.
func Persistent() Option {
	return Args("--appendonly", "yes", "--appendfsync", "always")
}

// Password demands a password of the default user; Client and URL know it.
func Password(password string) Option {
	return func(c *config) error {
		c.password = password
		c.args = append(c.args, "--requirepass", password)
		return nil
	}
}

// ACLUser makes a user with the given rules ("~asynq:*", "+@read"), which Client and URL then use. The default user keeps
// all rights, so that Admin can look at everything.
func ACLUser(name, password string, rules ...string) Option {
	return func(c *config) error {
		c.user, c.password = name, password
		c.args = append(c.args, "--user", name, "on", ">"+password)
		c.args = append(c.args, rules...)
		return nil
	}
}

// Users makes the users of an ACL file, each with the further rules, beside one with all rights that Admin uses; As returns
// clients of theirs.
func Users(file string, further ...string) Option {
	return func(c *config) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "user default ") {
				line += " " + strings.Join(further, " ")
			}
			out.WriteString(line + "\n")
		}
		c.admin = rand.Text()
		out.WriteString("user " + c.admin + " on >" + c.admin + " ~* &* +@all\n")
		path := filepath.Join(c.dir, "users.acl")
		c.args = append(c.args, "--aclfile", path)
		return os.WriteFile(path, []byte(out.String()), 0o600)
	}
}

// TLS makes the server speak TLS alone, with a certificate of its own that Client trusts; CAFile names it.
func TLS() Option {
	return func(c *config) error {
		if c.certs == "" {
			c.certs = c.dir
			if err := writeCertificate(c.dir); err != nil {
				return fmt.Errorf("certificate: %w", err)
			}
		}
		certificate, key := certificateIn(c.certs), filepath.Join(c.certs, "redis.key")
		pool := x509.NewCertPool()
		text, err := os.ReadFile(certificate)
		if err != nil {
			return err
		}
		pool.AppendCertsFromPEM(text)
		c.tls = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
		c.args = append(c.args, "--tls-cert-file", certificate, "--tls-key-file", key,
			"--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")
		if c.cluster {
			c.args = append(c.args, "--tls-cluster", "yes")
		}
		return nil
	}
}

func certificateIn(dir string) string { return filepath.Join(dir, "redis.crt") }

// writeCertificate makes a self-signed certificate for the loopback address, which nodes of a cluster also show each other.
func writeCertificate(dir string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "redistest"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := writePEM(certificateIn(dir), "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, "redis.key"), "PRIVATE KEY", keyDER)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
