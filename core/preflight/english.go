package preflight

import (
	"path"
	"strings"
)

// role is what a verb does to the paths after it.
type role int

const (
	noRole  role = iota
	reads        // nothing
	makes        // writes what it names, or what stands behind to, into, in, as
	changes      // changes what it names, or what stands behind in
	deletes      // removes what it names; "from" a file, a part of it
	copies       // writes what stands behind to
	moves        // both
	turns        // reads what it names, writes what stands behind to, into, as
	runs
)

// form is the form of a verb: only the base asks for something.
type form int

const (
	base    form = iota
	past         // "should be saved to"
	telling      // "it writes to", "when writing to"
)

type verb struct {
	role role
	form form
}

var verbs = conjugate(map[role]string{
	reads: "read open view explain describe review check inspect analyze analyse look find search grep compare test verify see understand debug investigate use follow load import cat know",
	makes: "write save store output dump export generate create produce put record emit draft compose add append persist insert make touch place",
	changes: `edit modify update change fix refactor rewrite replace adjust correct bump format reformat implement improve extend simplify clean migrate
		overwrite set tweak rework optimize polish patch`,
	deletes: "delete remove erase drop unlink truncate wipe strip",
	copies:  "copy duplicate",
	moves:   "move rename",
	turns: `summarize summarise translate convert compile render print download extract unpack unzip compress zip archive split merge combine concatenate
		transform redirect pipe log send collect build encode decode minify transcribe serialize list show format backup sync`,
	runs: "run execute",
})

// conjugate makes the table of all forms of the verbs.
func conjugate(words map[role]string) map[string]verb {
	out := map[string]verb{
		"written": {makes, past}, "put": {makes, base}, "putting": {makes, telling}, "made": {makes, past}, "rewritten": {changes, past}, "wrote": {makes, telling},
		"running": {runs, telling}, "formatting": {changes, telling}, "dropping": {deletes, telling}, "stripping": {deletes, telling},
	}
	for r, list := range words {
		for _, w := range strings.Fields(list) {
			stem, s := strings.TrimSuffix(w, "e"), "s"
			if strings.HasSuffix(w, "ch") || strings.HasSuffix(w, "x") || strings.HasSuffix(w, "h") {
				s = "es"
			}
			out[w], out[w+s], out[stem+"ing"], out[stem+"ed"] = verb{r, base}, verb{r, telling}, verb{r, telling}, verb{r, past}
			if y, ok := strings.CutSuffix(w, "y"); ok {
				out[y+"ies"], out[y+"ied"] = verb{r, telling}, verb{r, past}
			}
		}
	}
	return out
}

var (
	// starters are words after which a verb asks, as at the start of a sentence.
	starters = set("and then please to also can could you would just now must should will shall let's us go kindly next finally first afterwards or but instead ok okay hi hey help me need let it them")
	nouns    = set("the a an this that my your our their its last latest any each every no some") // in front of a verb they make it a noun
	failing  = set("fails failed unable tries tried trying refuses seems used able attempts supposed going how")
	forbids  = set("don't not never without avoid cannot can't shouldn't won't doesn't stop dont")
	breaks   = set("where when that which because since if while although whether who whose so")
	asking   = set("how why what whether")
	linking  = set("link links reference references pointer relative respect similar next due compared according close related equal up prior refer")
	preps    = set("to into in inside within under at as from of for on based using with like about than named called via by per against")
	runnable = set(".py .sh .bash .js .ts .rb .pl .go")
	folders  = set("directory directories folder folders dir")
)

// english reads a line of English for what it asks to be written.
type english struct {
	*finder
	verb       verb
	action     string
	sure       bool // the verb asks
	prep       string
	neg, query bool
	start      bool // a verb here asks
	folder     bool
	earlier    [2]string // words before
	pending    []token   // paths in front of any verb: "In a.go, fix …"
}

func (f *finder) english(toks []token) {
	e := english{finder: f, start: true}
	for _, t := range toks {
		word := ""
		switch t.kind {
		case punctToken:
			e.punct(t.text)
		case hanToken:
			e.start, e.neg, e.prep = true, false, ""
		case otherToken:
			e.start = false
		case pathToken:
			e.path(t)
			e.start = false
		case wordToken:
			word = t.text
			e.word(word)
		}
		e.earlier[0], e.earlier[1] = e.earlier[1], word
	}
}

func (e *english) punct(p string) {
	if strings.Contains(".!?;。！？；", p) {
		*e = english{finder: e.finder}
	}
	e.neg, e.start = false, true
}

func (e *english) word(w string) {
	before := e.earlier[1]
	v, isVerb := verbs[w]
	switch {
	case forbids[w], w == "no" && e.start:
		e.neg = true
	case asking[w] && e.verb.role <= reads:
		e.query, e.verb = true, verb{}
	case breaks[w]:
		e.verb, e.start = verb{}, false
	case preps[w]:
		if e.prep = w; w == "to" && linking[before] {
			e.prep = "like"
		}
		e.start = w == "to" && !failing[before]
	case isVerb && !nouns[before] && (e.start || starters[before] || e.verb.role == noRole): // else it is an object: "add tests"
		e.verb, e.prep, e.folder = v, "", false
		e.sure = v.form == base && (e.start || starters[before]) && !(before == "to" && failing[e.earlier[0]]) || v.form == past && before == "be"
		e.action = actionOf(v.role, w)
		if e.neg {
			e.verb = verb{}
		}
		if e.verb.role == makes || e.verb.role == changes || e.verb.role == deletes {
			for _, p := range e.pending {
				e.found(p, "edit_file", e.sure)
			}
			e.pending = nil
		}
		e.start = false
	default:
		e.folder = e.folder || folders[w]
		e.start = starters[w]
		if w == "but" || w == "instead" {
			e.neg = false
		}
	}
}

func actionOf(r role, w string) string {
	switch {
	case w == "append":
		return "append"
	case r == copies:
		return "copy"
	case r == moves:
		return "move"
	case r == deletes:
		return "delete"
	case r == changes:
		return "edit_file"
	}
	return "write_file"
}

// path decides what happens to a path.
func (e *english) path(t token) {
	at := func(preps string) bool { return strings.Contains(" "+preps+" ", " "+e.prep+" ") }
	named := e.prep == "" || at("named called")
	does, ok := e.action, false
	switch e.verb.role {
	case noRole:
		if at("in inside") && !e.neg {
			e.pending = append(e.pending, t)
		}
	case makes:
		if ok = named || at("to into in inside within under at as on"); e.folder && named {
			does = "mkdir"
			t.sure = true
		}
	case changes:
		ok = named || at("in inside within of at on under")
	case deletes:
		if ok = named || at("from in inside within of"); e.prep != "" {
			does = "edit_file"
		}
	case copies, turns:
		ok = at("to into as under in named called") && (e.verb.role == copies || !at("in under"))
	case moves:
		ok = named || at("from to into as under in inside within")
	case runs:
		if named && e.sure && !e.query && runnable[path.Ext(t.text)] {
			e.runs(t.text)
		}
	}
	if ok {
		t.sure = t.sure || at("to into in inside under")
		e.found(t, does, e.sure)
	}
}

// runs notes that a file is to be run.
func (f *finder) runs(p string) {
	f.can("shell")
	f.does("run_command", weak)
	f.does("script", weak)
	if strings.HasSuffix(p, ".py") {
		f.can("python")
	}
}

// found notes a path that will be written.
func (e *english) found(t token, does string, sure bool) {
	confidence := weak
	if sure && t.sure && !e.query {
		confidence = clear
	}
	e.write(t.text, confidence)
	e.does(does, confidence)
}
