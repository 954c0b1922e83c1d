package audit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paragents/core/audit"
)

func TestFileSink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write := audit.FileSink(path)
	for _, lines := range []string{"1\n", "2\n3\n"} {
		if err := write(t.Context(), []byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || string(got) != "1\n2\n3\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", got, info, err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), []byte("4\n")); err != nil {
		t.Fatal(err)
	}
	if got, err = os.ReadFile(path); err != nil || string(got) != "4\n" {
		t.Errorf("after a rotation %q, %v", got, err)
	}
	if err := audit.FileSink(filepath.Join(path, "below"))(t.Context(), []byte("5\n")); err == nil || !strings.Contains(err.Error(), "audit file") {
		t.Errorf("a file that cannot be: %v", err)
	}
}

func TestHTTPSink(t *testing.T) {
	var got []string
	status := http.StatusNoContent
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")+" "+string(body))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer s.Close()
	post := audit.HTTPSink(s.Client(), s.URL+"/in?key=hunter2", "tok")
	if err := post(t.Context(), []byte("1\n")); err != nil {
		t.Fatal(err)
	}
	for _, status = range []int{http.StatusFound, http.StatusForbidden, http.StatusServiceUnavailable} {
		if err := post(t.Context(), []byte("2\n")); err == nil || !strings.Contains(err.Error(), http.StatusText(status)) {
			t.Errorf("answer %d: %v", status, err)
		}
	}
	if len(got) != 4 || got[0] != "POST Bearer tok application/x-ndjson 1\n" {
		t.Errorf("%q", got)
	}
	s.Close()
	if err := post(t.Context(), []byte("3\n")); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("without a server: %v", err)
	}
}
