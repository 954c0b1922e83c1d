package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paragents/core"
)

// A yes that is older than staleAfter when it is to be used is asked again if what it was about has changed; maxFacts bounds how many files are looked at.
const (
	staleAfter = time.Hour
	maxFacts   = 64
)

// facts are the single files that a call names, and the commit that git stands on, with digests.
func (t *turns) facts(j judged) map[string]string {
	out := map[string]string{}
	for _, name := range j.names {
		if strings.ContainsAny(name, "*?") || len(out) >= maxFacts {
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.ws.Dir, path)
		}
		out[name], _ = hashFile(path) // what cannot be read is a fact as well
	}
	if head := gitHead(t.ws.Dir); head != "" {
		out["git HEAD"] = head
	}
	return out
}

// gitHead is a digest of what HEAD of a repository, or of a worktree of one, leads to; "" where there is none.
func gitHead(dir string) string {
	git := filepath.Join(dir, ".git")
	refs := git
	if link, err := os.ReadFile(git); err == nil {
		git = strings.TrimSpace(strings.TrimPrefix(string(link), "gitdir: "))
		refs = filepath.Dir(filepath.Dir(git))
	}
	head, err := os.ReadFile(filepath.Join(git, "HEAD"))
	if err != nil {
		return ""
	}
	sum := sha256.New()
	sum.Write(head)
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok && filepath.IsLocal(ref) {
		if at, err := os.ReadFile(filepath.Join(refs, filepath.FromSlash(ref))); err == nil {
			sum.Write(at)
		} else if packed, err := os.ReadFile(filepath.Join(refs, "packed-refs")); err == nil {
			sum.Write(packed)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// stale reports whether an approval has grown old and is not about the same things any more.
func (t *turns) stale(j judged, a core.Approval) bool {
	return t.run.Now().Sub(a.Decided) > staleAfter && !maps.Equal(t.facts(j), a.Facts)
}
