package redact

import (
	"strings"

	"paragents/core/lazy"
)

// maxShape is the length of the longest secret that a shape finds, apart from private keys, which are found as long as
// they are in one piece.
const maxShape = 4096

// shape is what secrets of one kind look like. Only the first group is hidden if there is one.
type shape struct {
	name string
	hint string // a literal part, looked for first because that is cheap; in small letters if fold
	fold bool
	re   *lazy.Regexp
}

// known are the shapes, from what the vendors say about their tokens.
var known = []shape{
	{"private key", "-----BEGIN ", false, lazy.Compile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)`)},
	{"slack token", "xox", false, lazy.Compile(`xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}`)},
	{"slack token", "xapp-", false, lazy.Compile(`xapp-[0-9]-[A-Za-z0-9-]{10,}`)},
	{"slack webhook", "hooks.slack.com/", false, lazy.Compile(`hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})`)},
	{"discord token", ".", false, lazy.Compile(`[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`)},
	{"discord webhook", "/webhooks/", false, lazy.Compile(`/webhooks/[0-9]{15,}/([A-Za-z0-9_-]{30,})`)},
	{"telegram token", ":AA", false, lazy.Compile(`[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`)},
	{"github token", "gh", false, lazy.Compile(`gh[pousr]_[A-Za-z0-9]{36,255}`)},
	{"github token", "github_pat_", false, lazy.Compile(`github_pat_[A-Za-z0-9_]{22,255}`)},
	{"gitlab token", "gl", false, lazy.Compile(`gl(?:pat|dt|ptt|rt|cbt|ft|soat|agent|oas)-[A-Za-z0-9_-]{20,}`)},
	{"aws key", "A", false, lazy.Compile(`(?:AKIA|ASIA)[A-Z2-7]{16}`)},
	{"google key", "AIza", false, lazy.Compile(`AIza[A-Za-z0-9_-]{35}`)},
	{"google token", "ya29.", false, lazy.Compile(`ya29\.[A-Za-z0-9_-]{20,}`)},
	{"azure key", "AccountKey=", false, lazy.Compile(`AccountKey=([A-Za-z0-9+/=]{40,})`)},
	{"model key", "sk-", false, lazy.Compile(`\bsk-[A-Za-z0-9_-]{20,}`)},
	{"model key", "gsk_", false, lazy.Compile(`gsk_[A-Za-z0-9]{40,}`)},
	{"model key", "xai-", false, lazy.Compile(`xai-[A-Za-z0-9]{40,}`)},
	{"hub token", "hf_", false, lazy.Compile(`\bhf_[A-Za-z0-9]{30,}`)},
	{"stripe key", "k_", false, lazy.Compile(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`)},
	{"npm token", "npm_", false, lazy.Compile(`npm_[A-Za-z0-9]{36}`)},
	{"pypi token", "pypi-", false, lazy.Compile(`pypi-[A-Za-z0-9_-]{50,}`)},
	{"mail key", "SG.", false, lazy.Compile(`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`)},
	{"vault token", "hv", false, lazy.Compile(`\bhv[sb]\.[A-Za-z0-9_-]{24,}`)},
	{"cloud token", "do", false, lazy.Compile(`do[opr]_v1_[a-f0-9]{64}`)},
	{"web token", "eyJ", false, lazy.Compile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{"password", "://", false, lazy.Compile(`://[^\s/:@"'<>]*:([^\s/@"'<>]{3,})@`)},
	{"bearer token", "bearer ", true, lazy.Compile(`(?i)bearer ([A-Za-z0-9._~+/=-]{16,})`)},
	{"basic credentials", "basic ", true, lazy.Compile(`(?i)authorization: *basic ([A-Za-z0-9+/=]{8,})`)},
	{"secret", "=", false, lazy.Compile(`(?i)\b[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)[A-Z0-9_]*=["']?([A-Za-z0-9+/_.~=:@%!#^&*-]{8,})`)},
}

// shapes returns what looks like a secret.
func shapes(text string) []span {
	var out []span
	folded := ""
	for _, s := range known {
		where := text
		if s.fold {
			if folded == "" {
				folded = strings.ToLower(text)
			}
			where = folded
		}
		if !strings.Contains(where, s.hint) {
			continue
		}
		for _, m := range s.re.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			if !strings.HasPrefix(text[from:], "[hidden") {
				out = append(out, span{from, to, "[hidden:" + s.name + "]"})
			}
		}
	}
	return out
}
