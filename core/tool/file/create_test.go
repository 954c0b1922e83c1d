package file

import (
	"errors"
	"os"
	"testing"
)

// Where the file system has no hard links, a new file still replaces nothing.
func TestB054CreateWithoutLinks(t *testing.T) {
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := createPlain(dir, "f", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if err := createPlain(dir, "f", []byte("theirs")); !errors.Is(err, errCreated) {
		t.Errorf("a second file: %v", err)
	}
	if got, err := dir.ReadFile("f"); err != nil || string(got) != "mine" {
		t.Errorf("the file is %q, %v", got, err)
	}
}
