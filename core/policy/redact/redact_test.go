package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paragents/core/policy/redact"
)

const value = "p@ss/w0rd+with&odd=signs"

func TestKnownValuesInEveryEncoding(t *testing.T) {
	r := redact.New(map[string]string{"BOT_TOKEN": value})
	encoded := map[string]string{
		"plain": value, "query": url.QueryEscape(value), "path": url.PathEscape(value),
		"lower query": strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3D", "%3d").Replace(url.QueryEscape(value)),
		"hex":         hex.EncodeToString([]byte(value)), "upper hex": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"base64": base64.StdEncoding.EncodeToString([]byte(value)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	for name, text := range encoded {
		got := r.String("before " + text + " after")
		if !strings.Contains(got, "[hidden:BOT_TOKEN]") || strings.Contains(got, text) {
			t.Errorf("%s: got %q", name, got)
		}
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: other characters changed: %q", name, got)
		}
	}
	for _, front := range []string{"u:", "user:", "a:b:"} {
		text := base64.StdEncoding.EncodeToString([]byte(front + value + " and more"))
		got := r.String(text)
		if !strings.Contains(got, "[hidden:BOT_TOKEN]") {
			t.Errorf("within base64 of %q: got %q", front, got)
		}
		for piece := range strings.SplitSeq(got, "[hidden:BOT_TOKEN]") {
			if plain, err := base64.RawStdEncoding.DecodeString(piece[:len(piece)/4*4]); err == nil && strings.Contains(string(plain), value[:6]) {
				t.Errorf("within base64 of %q: %q still tells %q", front, piece, plain)
			}
		}
	}
}

// samples are put together here so that no text of the source looks like a secret.
var samples = map[string]string{
	"slack token": "xoxb-" + "123456789012-abcdefABCDEF1234", "telegram token": "1234567890" + ":AA" + strings.Repeat("x", 33),
	"discord token": "M" + strings.Repeat("T", 23) + ".Gabcde." + strings.Repeat("k", 38), "github token": "ghp_" + strings.Repeat("a", 36),
	"gitlab token": "glpat-" + strings.Repeat("z", 20), "aws key": "AKIA" + strings.Repeat("Q", 16), "google key": "AIza" + strings.Repeat("b", 35),
	"model key": "sk-" + strings.Repeat("c", 40), "web token": "eyJ" + strings.Repeat("h", 20) + ".eyJ" + strings.Repeat("i", 20) + "." + strings.Repeat("j", 20),
	"private key": "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("A", 64) + "\n-----END RSA PRIVATE KEY-----",
	"npm token":   "npm_" + strings.Repeat("d", 36), "stripe key": "sk_live_" + strings.Repeat("e", 24),
}

func TestKnownShapes(t *testing.T) {
	r := redact.New(nil)
	for name, secret := range samples {
		if got, want := r.String("a "+secret+" b"), "a [hidden:"+name+"] b"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for text, want := range map[string]string{
		"https://user:hunter22@example.org/x":     "https://user:[hidden:password]@example.org/x",
		"export DB_PASSWORD=hunter2222 x":         "export DB_PASSWORD=[hidden:secret] x",
		"MY_API_KEY='abcdefgh12'":                 "MY_API_KEY='[hidden:secret]'",
		"Authorization: Bearer abcdefghijklmnopq": "Authorization: Bearer [hidden:bearer token]",
	} {
		if got := r.String(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, text := range []string{
		"git commit -m 'tokens: none' && ls", "https://example.org:8080/path?a=b", "the secret of success", "sha256:" + strings.Repeat("ab", 32),
		"func main() { fmt.Println(\"sk-\") }", "TOKEN=", "0123456789:ABC",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestStreamIsTheWhole says that it does not matter where a text is cut.
func TestStreamIsTheWhole(t *testing.T) {
	r := redact.New(map[string]string{"BOT_TOKEN": value, "OTHER": "0123456789abcdef"})
	pieces := []string{value, "0123456789abcdef", "text ", "\n", samples["slack token"], samples["github token"], hex.EncodeToString([]byte(value)),
		strings.Repeat("lorem ipsum ", 600), "é", base64.StdEncoding.EncodeToString([]byte(value))}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 8).Draw(t, "pieces"), " ")
		s := r.Stream()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got.WriteString(s.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(s.Close())
		if want := r.String(text); got.String() != want {
			t.Fatalf("cut: %q\nwhole: %q", got.String(), want)
		}
	})
}

var mark = regexp.MustCompile(`\[hidden:[A-Za-z_ ]+\]`)

// TestNothingElseChanges says that what is left, with the marks taken for anything, is the text.
func TestNothingElseChanges(t *testing.T) {
	r := redact.New(map[string]string{"BOT_TOKEN": value})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zA-Z0-9_=:/@. \n-]|xoxb-[a-z0-9]{12}|p@ss/w0rd\+with&odd=signs|[A-Z]_TOKEN=[a-z]{9}){0,40}`).Draw(t, "text")
		got := r.String(text)
		if strings.Contains(got, value) {
			t.Fatalf("%q still holds the value", got)
		}
		at := 0
		for i, kept := range mark.Split(got, -1) {
			j := strings.Index(text[at:], kept)
			if j < 0 || i == 0 && j != 0 {
				t.Fatalf("%q of %q does not stand in %q", kept, got, text)
			}
			at += j + len(kept)
		}
	})
}

func BenchmarkThirtyKilobytes(b *testing.B) {
	r := redact.New(map[string]string{"A": "secret-value-number-1"})
	text := strings.Repeat("2026-01-02 INFO request done path=/api/v1/items status=200 token=none\n", 440)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.String(text)
	}
}
