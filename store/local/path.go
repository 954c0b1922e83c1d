package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultPath is the state file that belongs to a configuration file; "" stands for having none. It lies in $XDG_STATE_HOME/paragents, or
// ~/.local/state/paragents, in a folder named by the hash of the configuration's absolute path. Nothing is made.
func DefaultPath(configPath string) (string, error) {
	folder := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) { // the XDG specification: a relative one is to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find state folder: %w; set XDG_STATE_HOME", err)
		}
		folder = filepath.Join(home, ".local", "state")
	}
	name := "default"
	if configPath != "" {
		path, err := filepath.Abs(configPath)
		if err != nil {
			return "", fmt.Errorf("find state folder of %s: %w", configPath, err)
		}
		hash := sha256.Sum256([]byte(path))
		name = hex.EncodeToString(hash[:8])
	}
	return filepath.Join(folder, "paragents", name, "state.db"), nil
}

// resolve is the spelling of a path that all processes share, so that they find the same socket beside the file.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file, nil
	}
	return path, nil // it does not exist yet
}

func socketPath(path string) string { return path + ".sock" }

// longestSocket is what fits into a socket's address everywhere: macOS has 104 bytes, Linux 108, with a zero at the end.
const longestSocket = 103

// short returns a name of the path that fits into a socket's address: the path itself, or one through a link in a folder of its own that
// done removes. It is needed only while a socket is bound or connected.
func short(path string) (name string, done func(), err error) {
	if len(path) <= longestSocket {
		return path, func() {}, nil
	}
	parent := os.TempDir()
	if len(parent) > longestSocket/2 {
		parent = "/tmp"
	}
	folder, err := os.MkdirTemp(parent, "paragents-")
	if err != nil {
		return "", nil, err
	}
	link := filepath.Join(folder, "s")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		_ = os.Remove(folder)
		return "", nil, err
	}
	return filepath.Join(link, filepath.Base(path)), func() { _ = os.Remove(link); _ = os.Remove(folder) }, nil
}
