package flow

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each archive of testdata/problems holds a bundle with something wrong and, as the file problems, all that Load
// says of it.
func TestLoadReportsEveryProblemWithItsPlace(t *testing.T) {
	for path, a := range archives(t, "testdata/problems/*.txt") {
		t.Run(path, func(t *testing.T) {
			_, err := Load(a.fs(t), "flow.yaml")
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("Load: got %v, want Problems", err)
			}
			got := problems.Error() + "\n"
			if *update {
				if _, ok := a.files["problems"]; !ok {
					a.names = append(a.names, "problems")
				}
				a.files["problems"] = got
				if err := os.WriteFile(path, []byte(a.format()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(a.files["problems"], got); diff != "" {
				t.Error("problems (-want +got):\n" + diff)
			}
		})
	}
}
