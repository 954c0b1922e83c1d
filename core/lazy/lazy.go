// Package lazy has regular expressions that are compiled when they are first used: who starts a program should not wait for those of what they may never ask for.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression in the syntax of package regexp; its methods are that package's. It may be used by many goroutines.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// Compile returns the expression, which the first use compiles; one that cannot be compiled panics then.
func Compile(text string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (r *Regexp) MatchString(s string) bool            { return r.compiled().MatchString(s) }
func (r *Regexp) FindString(s string) string           { return r.compiled().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int       { return r.compiled().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}
func (r *Regexp) SubexpIndex(name string) int    { return r.compiled().SubexpIndex(name) }
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
