package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paragents/cmd/paragents/config"
)

// confirmedFile holds the hashes of configurations that came with a directory and that a person has confirmed, one a line.
func confirmedFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "paragents", "confirmed"), nil
}

func confirmed(hash string) bool {
	path, err := confirmedFile()
	if err != nil {
		return false
	}
	raw, err := os.ReadFile(path)
	return err == nil && slices.Contains(strings.Fields(string(raw)), hash)
}

// Confirm shows what a configuration that came with the directory says, and stores its hash when the person types yes.
func Confirm(f *config.Foreign, in io.Reader, out io.Writer) error {
	if f == nil || f.Confirmed {
		fmt.Fprintln(out, "There is nothing to confirm here.")
		return nil
	}
	raw, err := os.ReadFile(f.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s came with this directory:\n\n%s\n\nSHA-256 %s\nType yes to let all of it count: ", f.Path, raw, f.Hash)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != "yes" {
		fmt.Fprintln(out, "Not confirmed; only its deny and ask rules count.")
		return nil
	}
	path, err := confirmedFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, append(old, []byte(f.Hash+"\n")...), 0o600)
}
