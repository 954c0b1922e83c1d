package preflight

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"paragents/core/lazy"
)

type tokenKind int

const (
	wordToken  tokenKind = iota // lower case
	pathToken                   // something that may be a path
	hanToken                    // a run of Chinese characters
	punctToken                  // one character
	otherToken                  // quoted text, or a hole
)

// maxQuote is the longest quotation in bytes that is taken for one.
const maxQuote = 256

// token is a piece of prose.
type token struct {
	kind tokenKind
	text string
	sure bool // of a path: it cannot well be anything else
}

var (
	closers  = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’', '「': '」', '『': '』', '《': '》'}
	address  = lazy.Compile(`[A-Za-z][A-Za-z+.-]*://[^\s，。；！？、（）“”"'<>\x60]+`)
	position = lazy.Compile(`:\d+(?::\d+)?$`)
	windows  = lazy.Compile(`^[\w.~-]+(?:\\[\w.~-]+)+$`)
	mixed    = lazy.Compile(`^[\p{Han}\w./-]*?\.[A-Za-z][A-Za-z0-9]{0,9}`)
	// verbal ends in what a Chinese file name without quotes cannot begin before.
	verbal = lazy.Compile(`^(?:.*(?:写入|写到|写进|写|存到|存为|出到|到|至|创建|新建|生成|修改|更新|编辑|删除|读取|阅读|查看|打开|追加|为|成|把|将|在|从|叫|件|和|与|及))`)
)

// tokenize takes a line of prose apart. Addresses on the web are left out.
func tokenize(line string) []token {
	line = address.ReplaceAllString(line, hole)
	var out []token
	last := ' '
	for len(line) > 0 {
		r, n := utf8.DecodeRuneInString(line)
		tok := token{kind: punctToken, text: line[:n]}
		switch {
		case closers[r] != 0 && (r != '\'' || !unicode.IsLetter(last)) && quoted(line, n) > 0:
			end := quoted(line, n)
			tok = token{kind: otherToken}
			if p, ok, sure := pathOf(line[n:end]); ok {
				tok = token{pathToken, p, sure || r == '`'}
			}
			n = end + utf8.RuneLen(closers[r])
		case unicode.IsSpace(r):
			last, line = r, line[n:]
			continue
		case string(r) == hole:
			tok = token{kind: otherToken}
		case unicode.Is(unicode.Han, r):
			n = len(line) - len(strings.TrimLeftFunc(line, func(r rune) bool { return unicode.Is(unicode.Han, r) }))
			tok = token{kind: hanToken, text: line[:n]}
		case inPath(r):
			tok, n = wordOrPath(line)
			if k := len(out) - 1; tok.kind == wordToken && extensions[strings.TrimPrefix(tok.text, ".")] && strings.HasPrefix(tok.text, ".") && k >= 0 && out[k].kind == hanToken && last != ' ' {
				verb := verbal.FindString(out[k].text)
				tok = token{pathToken, out[k].text[len(verb):] + tok.text, true}
				out[k].text = verb
			}
		}
		out = append(out, tok)
		last, _ = utf8.DecodeLastRuneInString(line[:n])
		line = line[n:]
	}
	return out
}

var (
	hanAt    = lazy.Compile(`[在到往]$`)
	hanUnder = lazy.Compile(`^(目录|文件夹)?(?:里面?|中|下面?|内)?(?:创建|新建|生成|写|添加|新增|建|保存)`)
)

// join puts a file and the directory that is named apart from it together: "a.go in src/", "在 src 目录下创建 a.go".
func join(toks []token) []token {
	file := func(t token) bool {
		return t.kind == pathToken && !strings.Contains(t.text, "/") && hasExtension(t.text)
	}
	dir := func(t token, said bool) bool {
		return t.kind == pathToken && strings.HasSuffix(t.text, "/") || said && (t.kind == wordToken || t.kind == pathToken && !hasExtension(t.text))
	}
	for i := 0; i+2 < len(toks); i++ {
		a, b := toks[i], toks[i+1]
		if at := i + 2; file(a) && b.kind == wordToken && (b.text == "in" || b.text == "inside" || b.text == "under") {
			if toks[at].text == "the" && at+1 < len(toks) {
				at++
			}
			said := at+1 < len(toks) && toks[at+1].kind == wordToken && folders[toks[at+1].text]
			if dir(toks[at], said) {
				toks[i].text = path.Join(toks[at].text, a.text)
				toks = append(toks[:i+1], toks[at+1:]...)
			}
			continue
		}
		if i+3 < len(toks) && a.kind == hanToken && hanAt.MatchString(a.text) && toks[i+2].kind == hanToken {
			under := hanUnder.FindStringSubmatch(toks[i+2].text)
			if under != nil && file(toks[i+3]) && dir(b, under[1] != "") {
				toks[i+3].text = path.Join(b.text, toks[i+3].text)
				toks = append(toks[:i+1], toks[i+2:]...)
			}
		}
	}
	return toks
}

// quoted returns where the quotation ends that begins at the beginning of line; n is the length of its mark.
func quoted(line string, n int) int {
	r, _ := utf8.DecodeRuneInString(line)
	end := strings.IndexRune(line[n:min(len(line), n+maxQuote)], closers[r])
	if end <= 0 {
		return -1
	}
	return n + end
}

// inPath reports whether a path without quotes can hold the character, and a word as well.
func inPath(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Han, r) || strings.ContainsRune(`_./~@+*?{}[]%#:\-'’`, r)
}

// wordOrPath reads the word or path that line begins with, without the punctuation behind it.
func wordOrPath(line string) (token, int) {
	n := len(line) - len(strings.TrimLeftFunc(line, inPath))
	for {
		open := strings.LastIndexByte(line[:n], '{')
		if !strings.HasPrefix(line[n:], ",") || open < 0 || strings.Contains(line[open:n], "}") {
			break
		}
		n++ // a comma between alternatives
		n += len(line[n:]) - len(strings.TrimLeftFunc(line[n:], inPath))
	}
	if strings.HasSuffix(line[:n], "/") { // docs/报告.md
		n += len(mixed.FindString(line[n:]))
	}
	text := strings.TrimRight(line[:n], `.?:'’`)
	if b := strings.Trim(text, "[]"); strings.HasPrefix(text, "[") && !strings.Contains(b, "]") {
		text = strings.TrimSuffix(text, "]")
	}
	if !strings.ContainsFunc(text, unicode.IsLetter) && !strings.ContainsFunc(text, unicode.IsDigit) && !isGlob(text) {
		_, first := utf8.DecodeRuneInString(line)
		return token{kind: punctToken, text: line[:first]}, n
	}
	if p, ok, sure := pathOf(text); ok {
		return token{pathToken, p, sure}, len(text)
	}
	return token{kind: wordToken, text: strings.ToLower(strings.ReplaceAll(text, "’", "'"))}, len(text)
}

var (
	extensions = set(`md mdx txt rst adoc json jsonl json5 yaml yml toml ini cfg conf env xml html htm css scss less js jsx mjs cjs ts tsx vue svelte go mod sum py
		pyi ipynb rb rs java kt kts swift c h cc cpp cxx hpp hh m mm cs fs php pl pm lua r jl sh bash zsh fish ps1 bat cmd sql db sqlite csv tsv parquet log out
		err pdf doc docx xls xlsx ppt pptx png jpg jpeg gif svg webp ico mp3 mp4 wav mov zip tar gz tgz bz2 xz 7z lock patch diff proto graphql tf hcl gradle
		properties service plist tex bib bin dat bak tmp example template tmpl j2 ejs hbs srt vtt pem crt key dockerfile makefile mk cmake nix ex exs erl hs ml
		scala clj dart zig wasm map snap`)
	bareNames = set(`Makefile Dockerfile LICENSE README CHANGELOG Gemfile Rakefile Procfile Jenkinsfile Vagrantfile CODEOWNERS Justfile Containerfile Pipfile`)
	products  = set("node.js next.js vue.js react.js d3.js three.js express.js nuxt.js chart.js alpine.js ember.js backbone.js p5.js asp.net socket.io")
	pairs     = set("and/or read/write input/output i/o n/a w/o w/ tcp/ip ci/cd he/she his/her yes/no on/off client/server true/false either/or")
	domain    = lazy.Compile(`(?i)^(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|cn|ai|app)/`)
)

// pathOf reads text as a path. sure is false for one that may be something else: with slashes, but neither an extension nor a beginning or
// end that only paths have.
func pathOf(text string) (p string, ok, sure bool) {
	p = position.ReplaceAllString(strings.TrimSpace(text), "")
	if windows.MatchString(p) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	rooted := strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../")
	base := path.Base(p)
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(base), "."))
	typed := hasExtension(base)
	switch {
	case p == "" || len(p) > 300 || strings.ContainsAny(p, "<>|\"=;&$()!`\n\t") || strings.Contains(p, "//") || strings.Contains(p, "..."),
		!strings.ContainsFunc(p, unicode.IsLetter) && !isGlob(p), strings.Trim(p, "./*?~") == "":
		return "", false, false
	case strings.Contains(p, " ") && !(typed && extensions[ext]) || strings.ContainsAny(p, ",") && !strings.Contains(p, "{"):
		return "", false, false
	case bareNames[base]:
		return p, true, true
	case !strings.Contains(p, "/"):
		dotfile := len(p) > 2 && p[0] == '.' && p[1] >= 'a' && p[1] <= 'z' && !extensions[p[1:]] || p == ".env"
		ok = dotfile || typed && extensions[ext] && !products[strings.ToLower(p)] && !strings.Contains(p, "@")
		return p, ok, ok
	case strings.HasPrefix(p, "@"), domain.MatchString(p), pairs[strings.ToLower(p)], strings.ContainsAny(p, "'’#%"):
		return "", false, false
	}
	sure = typed || isGlob(p) || strings.HasSuffix(p, "/") || rooted && strings.Count(p, "/") > 1 || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../")
	return p, true, sure
}
