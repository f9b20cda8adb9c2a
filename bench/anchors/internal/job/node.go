package job

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// BullMQThere says whether this machine has what BullMQ needs: Node.js and npm.
func BullMQThere() bool {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}

//go:embed bullmq
var embedded embed.FS

// anchorFiles are the program of BullMQ and the list of the packages that it needs.
func anchorFiles() fs.FS {
	files, err := fs.Sub(embedded, "bullmq")
	if err != nil {
		panic(err) // the name is no path
	}
	return files
}

// BullMQVersions names the packages that BullMQ's program asks for, with their versions.
func BullMQVersions() ([]string, error) {
	text, err := fs.ReadFile(anchorFiles(), "package.json")
	if err != nil {
		return nil, err
	}
	var list struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var all []string
	for name, version := range list.Dependencies {
		all = append(all, name+" "+version)
	}
	slices.Sort(all)
	return all, nil
}

// installedAnchor returns BullMQ's program, beside its packages. npm installs them once for each version of the files, in the
// user's cache: of processes that come at the same time each makes a folder, and the first gives its own the final name.
var installedAnchor = sync.OnceValues(func() (string, error) {
	version, err := anchorVersion()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "fourfold-anchors")
	final := filepath.Join(parent, "bullmq-"+version)
	program := filepath.Join(final, "anchor.mjs")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(parent, "install")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // nothing is there any more when it has its final name
	if err := install(fresh); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, final); err != nil {
		if _, there := os.Stat(program); there != nil {
			return "", err
		}
	}
	return program, nil
})

// anchorVersion tells apart what is to be installed.
func anchorVersion() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(anchorFiles(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(anchorFiles(), name)
		fmt.Fprintln(sum, name, len(text))
		sum.Write(text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:12], err
}

func install(folder string) error {
	if err := os.CopyFS(folder, anchorFiles()); err != nil {
		return err
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund") //nolint:noctx // npm itself gives up
	npm.Dir = folder
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}
