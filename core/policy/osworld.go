package policy

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"paragents/core/policy/files"
)

// resolveTime bounds one look-up of a name.
const resolveTime = 3 * time.Second

// maxNames bounds the names that are read of one directory.
const maxNames = 20_000

// osWorld answers from the real file system and the system's resolver.
type osWorld struct {
	workspace, home string
}

// NewOSWorld returns the world as it is. workspace and home are absolute, clean paths; home may be empty. Looking up a
// name takes at most three seconds; a name that cannot be looked up has no addresses, which is safe because the dialler
// of netguard judges what it connects to.
func NewOSWorld(workspace, home string) World { return osWorld{workspace, home} }

func (w osWorld) Workspace() string { return w.workspace }

func (w osWorld) Home() string { return w.home }

func (w osWorld) Lstat(path string) (files.Kind, string) {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return files.Missing, ""
	case err != nil:
		return files.Unknown, ""
	case info.IsDir():
		return files.Dir, ""
	case info.Mode()&os.ModeSymlink == 0:
		return files.File, ""
	}
	target, err := os.Readlink(path)
	if err != nil {
		return files.Unknown, ""
	}
	return files.Link, target
}

func (w osWorld) List(dir string) ([]string, bool) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxNames)
	more, _ := d.Readdirnames(1)
	return names, len(more) == 0
}

func (w osWorld) Resolve(host string) []netip.Addr {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	return addrs
}

// Redirect knows nothing: each hop is judged when it comes.
func (w osWorld) Redirect(string) (string, bool) { return "", false }
