package wiretest

import (
	"strings"
	"testing"
)

// Secret stands for what a configuration may hold in the wrong place, such as a key in an address.
const Secret = "CANARY-5f1d"

// ConfigErrors makes a client of good, changed by each function in turn, and looks at the error. The functions stand under the
// setting that the error must name; the empty one means that the configuration stays good. No error may show Secret.
func ConfigErrors[C any](t *testing.T, good C, open func(C) error, settings map[string][]func(*C)) {
	t.Helper()
	for setting, changes := range settings {
		for i, change := range changes {
			cfg := good
			change(&cfg)
			err := open(cfg)
			switch {
			case setting == "" && err != nil:
				t.Errorf("good %d is refused: %v", i, err)
			case setting != "" && (err == nil || !strings.Contains(err.Error(), setting)):
				t.Errorf("%s %d: error = %v, want one that names the setting", setting, i, err)
			case err != nil && strings.Contains(err.Error(), Secret):
				t.Errorf("%s %d: the error quotes the value: %v", setting, i, err)
			}
		}
	}
}
