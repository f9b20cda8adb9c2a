package redistest

import "fmt"

// Suite is the TB of a TestMain: what is started with it lives until Close, for all tests of the package. A cluster takes
// two seconds to become whole, so tests that need one share it, and flush it first.
//
//	var suite redistest.Suite
//	var cluster = sync.OnceValue(func() *redistest.Cluster { return redistest.StartCluster(&suite, 3) })
//
//	func TestMain(m *testing.M) { defer suite.Close(); m.Run() }
//
// The zero value is ready. It is for one goroutine at a time.
type Suite struct{ ends []func() }

// Helper does nothing.
func (s *Suite) Helper() {}

// Cleanup adds what Close calls, last first.
func (s *Suite) Cleanup(end func()) { s.ends = append(s.ends, end) }

// Fatalf panics: there is no test to end.
func (s *Suite) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Close ends what was started.
func (s *Suite) Close() {
	for len(s.ends) > 0 {
		last := len(s.ends) - 1
		end := s.ends[last]
		s.ends = s.ends[:last]
		end()
	}
}
