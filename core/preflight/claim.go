package preflight

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"paragents/core/policy/word"
)

// Claim is a reservation of something that a prompt will change. It is one of
//
//	src/main.go            a path relative to the workspace; of a directory, all that is below it too
//	src/**                 a directory, whatever its name looks like
//	src/*.go               a glob: * ? [a-z] {a,b} within an element, ** for any number of elements
//	.                      the whole workspace
//	git:index              the index of the repository, and with it its current branch
//	git:stash              the stash, which all worktrees of a repository share
//	git:push:origin/main   a branch of a remote; git:push:origin is all of its branches, git:push:* any branch of any remote
type Claim string

// GitIndex is the claim on the repository's index.
const GitIndex Claim = "git:index"

// GitStash is the claim on the repository's stash.
const GitStash Claim = "git:stash"

// gitPush begins the claims on branches of remotes.
const gitPush = "git:push:"

// Push is the claim on a branch of a remote. An empty branch stands for all of them, an empty remote for any.
func Push(remote, branch string) Claim {
	switch {
	case remote == "":
		return gitPush + "*"
	case branch == "":
		return Claim(gitPush + remote)
	}
	return Claim(gitPush + remote + "/" + branch)
}

// git reports whether the claim is on git's own things; they and paths never overlap.
func (c Claim) git() bool {
	return c == GitIndex || c == GitStash || strings.HasPrefix(string(c), gitPush)
}

// Shared reports whether the claim is on something that all worktrees of a repository have in common.
func (c Claim) Shared() bool { return c.git() && c != GitIndex }

// ErrOutside is the error of Clean for a path that leaves the workspace.
var ErrOutside = errors.New("outside the workspace")

// maxPath is the longest path in bytes that Clean takes.
const maxPath = 4096

// Clean makes a claim of a path or glob, absolute or relative to root, the absolute path of the workspace. It looks at no file: who wants
// links to be resolved resolves them first. Claims on git's things pass unchanged. The error is ErrOutside for a path that leaves root.
func Clean(root, p string) (Claim, error) {
	switch {
	case p == "":
		return "", errors.New("claim path: it is empty")
	case len(p) > maxPath:
		return "", fmt.Errorf("claim path %.40q…: it is longer than %d bytes", p, maxPath)
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", fmt.Errorf("claim path %q: it holds control characters", p)
	}
	p = strings.ToValidUTF8(filepath.ToSlash(p), "\uFFFD")
	if Claim(p).git() {
		return Claim(p), nil
	}
	wild := false
	for elem := range strings.SplitSeq(p, "/") {
		if wild && elem == ".." { // it may lead anywhere
			return "", fmt.Errorf("claim path %q: %w", p, ErrOutside)
		}
		wild = wild || isGlob(elem)
	}
	clean := path.Clean(p)
	if path.IsAbs(clean) {
		root = strings.TrimSuffix(path.Clean(filepath.ToSlash(root)), "/")
		if !covers(root, clean) {
			return "", fmt.Errorf("claim path %q: %w", p, ErrOutside)
		}
		clean = path.Clean(strings.TrimPrefix(clean[len(root):], "/"))
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("claim path %q: %w", p, ErrOutside)
	}
	if clean == "**" {
		clean = "."
	}
	return Claim(clean), nil
}

// Overlap reports whether both claims can mean the same file. fold says that the file system takes names that differ only in case for the
// same. Where it cannot be known it says yes, with one exception: a name with an extension (a.go, *.go) is taken for a file, with nothing below
// it, unless the other claim spells out something that is.
func Overlap(a, b Claim, fold bool) bool {
	if fold {
		a, b = folded(a), folded(b)
	}
	if a.git() != b.git() {
		return false
	}
	return overlap(parse(a), parse(b))
}

func folded(c Claim) Claim { return Claim(word.Fold(string(c))) }

// parsed is a claim taken apart. base has no trailing /**, and is empty for the whole workspace.
type parsed struct {
	base string
	tree bool // it ended in /**
	glob bool
}

func parse(c Claim) parsed {
	p := parsed{base: string(c)}
	for strings.HasSuffix(p.base, "/**") {
		p.base, p.tree = p.base[:len(p.base)-3], true
	}
	if p.base == "." || p.base == "**" {
		return parsed{tree: true}
	}
	p.glob = isGlob(p.base)
	return p
}

func overlap(a, b parsed) bool {
	switch {
	case a.base == "" || b.base == "" || a.base == b.base:
		return true
	case !a.glob && covers(a.base, b.base), !b.glob && covers(b.base, a.base):
		return true
	case !a.glob && !b.glob, apart(a, b):
		return false
	}
	return meetPaths(a.elements(b), b.elements(a))
}

// covers reports whether p is dir or below it; everything is below the empty path.
func covers(dir, p string) bool {
	return dir == "" || strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/')
}
