package doorbell

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each known fault of asynq has a row in docs/asynq.md, and the row's tests exist.
func TestEveryKnownFaultNamesTestsThatExist(t *testing.T) {
	const root = "../../.."
	text, err := os.ReadFile(filepath.Join(root, "docs", "asynq.md"))
	must(t, err)
	var code strings.Builder
	must(t, filepath.WalkDir(filepath.Join(root, "tasks"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			source, err := os.ReadFile(path)
			must(t, err)
			code.Write(source)
		}
		return err
	}))
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	for _, match := range named.FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(code.String(), "\nfunc "+match[1]+"(t *testing.T)") {
			t.Errorf("docs/asynq.md names %s, which does not exist", match[1])
		}
	}
	rows := strings.Split(string(text), "\n| D")
	for i := 1; i <= 16; i++ {
		if i >= len(rows) || !strings.HasPrefix(rows[i], fmt.Sprint(i, " | ")) || !named.MatchString(strings.SplitN(rows[i], "\n", 2)[0]) {
			t.Errorf("docs/asynq.md has no row with a test for D%d", i)
		}
	}
}
