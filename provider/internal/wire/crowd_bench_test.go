package wire_test

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/openai"
)

// The slow server is this test binary in a process of its own, so that only the callers' memory is measured. It says its URL,
// and a certificate if it has one, and answers nobody until it is told to, by a line; the end of its input ends it.
const slowServer = "FOURFOLD_SLOW_SERVER"

func init() {
	protocol := os.Getenv(slowServer)
	if protocol == "" {
		return
	}
	over := make(chan struct{})
	arrived := make(chan struct{}, 1<<20)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-over
		_, _ = io.WriteString(w, goodBody)
	}))
	if s.EnableHTTP2 = protocol == "HTTP/2"; s.EnableHTTP2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	fmt.Println(s.URL)
	if s.EnableHTTP2 {
		_ = pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	fmt.Println()
	go func() {
		for range arrived {
			fmt.Println("arrived")
		}
	}()
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	close(over)
	in.Scan()
	os.Exit(0)
}

// startSlowServer returns its URL, a file with its certificate, its word for each call, and what lets it answer.
func startSlowServer(b *testing.B, protocol string) (url, ca string, arrivals *bufio.Scanner, answer func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), slowServer+"="+protocol)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan()
	url = lines.Text()
	var cert strings.Builder
	for lines.Scan() && lines.Text() != "" {
		cert.WriteString(lines.Text() + "\n")
	}
	if cert.Len() > 0 {
		ca = filepath.Join(b.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, []byte(cert.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return url, ca, lines, func() { _, _ = io.WriteString(in, "\n") }
}

// Two thousand calls under way at a provider that does not answer yet: what each holds, by heap and stacks after a collection, its
// goroutine and the prompt of a kilobyte included. Ten thousand need not be measured: each costs the same.
func BenchmarkCallsUnderWay(b *testing.B) {
	const calls, atOnce = 2000, 20 // as many connections are made at a time: a handshake is work
	for _, protocol := range []string{"HTTP/1", "HTTP/2"} {
		b.Run(protocol, func(b *testing.B) {
			for b.Loop() {
				url, ca, arrivals, answer := startSlowServer(b, protocol)
				c, err := openai.New(openai.Config{Name: provider.MustName("p"), Model: "m", BaseURL: url, CAFile: ca, Key: content.New("k")})
				if err != nil {
					b.Fatal(err)
				}
				before, routines := inUse(), runtime.NumGoroutine()
				var all sync.WaitGroup
				arrived := 0
				for i := range calls {
					req := hello
					req.Prompt = content.New(strings.Repeat(string(rune('a'+i%26)), 1024))
					all.Go(func() {
						if _, err := c.Complete(b.Context(), req); err != nil {
							b.Error(err)
						}
					})
					if i%atOnce == 0 {
						for ; arrived <= i; arrived++ {
							arrivals.Scan()
						}
					}
				}
				for ; arrived < calls; arrived++ {
					arrivals.Scan()
				}
				b.ReportMetric(float64(inUse()-before)/calls, "B/call")
				b.ReportMetric(float64(runtime.NumGoroutine()-routines)/calls, "goroutines/call")
				answer()
				all.Wait()
				c.Close()
			}
		})
	}
}

// inUse is what the heap and the stacks hold after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
