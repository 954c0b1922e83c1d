// Package nodetest runs what others wrote for Node beside tests: packages from npm at the exact versions of a lock file.
package nodetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// installLimit bounds the first installation.
const installLimit = 5 * time.Minute

// Install makes a copy of a folder that holds a package.json, a package-lock.json and programs, with its packages, and returns its path. It does so once for each content, in the
// user's cache; the first time it needs the registry that npm is configured for. A missing Node or npm fails the test.
func Install(t testing.TB, folder string) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s (Node 18 or newer): %v", tool, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	sum, files := sha256.New(), map[string][]byte{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = data
		sum.Write([]byte(e.Name() + "\x00"))
		sum.Write(data)
	}
	dir := filepath.Join(cache, "paragents-test", filepath.Base(folder)+"-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	// Whole or not at all: the folder gets its name when everything is in it.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // when it got its name there is nothing left of it
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), installLimit)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = work
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("install the packages of %s: %v\n%s", folder, err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, err := os.Stat(dir); err != nil { // else another run was faster
			t.Fatal(err)
		}
	}
	return dir
}
