package grammar

import "testing"

// What is a command without a slash, and what only looks like one.
func TestTyped(t *testing.T) {
	for text, want := range map[string]string{
		"list": "list", "list all": "list", "LIST": "list", "list the files": "", "list files": "", "sessions": "",
		"status": "status", "status k3m9p2": "status", "status #3": "status", "status of the build": "", "status my": "",
		"approvals": "approvals", "approve": "approve", "approve k3m9p2 session": "approve", "approve the request": "",
		"deny k3m9p2 not on a friday": "deny", "deny everything": "", "stop": "stop", "stop the server": "", "pause": "pause", "continue": "",
		"new fix the build": "new", "new": "", "steer only the tests": "steer", "submit the PR": "", "/submit fix it": "submit", "rename a.go to b.go": "",
		"/rename a better title": "rename", "mode plan": "mode", "mode of failure": "", "help": "help", "help me": "", "undo": "undo", "undo it": "",
		"diff k3m9p2": "diff", "diff main": "", "pair bcdfghjk operator": "pair", "pair with me": "", "freeze all it runs away": "freeze", "freeze the deploy": "",
		"permissions Bash(go test)": "permissions", "permissions of a.txt": "", "quit": "", "/quit": "", "open the file": "", "use k3m9p2": "", "/nonsense": "",
		"access revoke slack:T1/U1": "access", "access to the database": "", "revoke Bash(ls)": "revoke", "revoke the key": "", "run-held": "run-held",
	} {
		c, ok := Typed(text)
		if got := map[bool]string{true: c.Name}[ok]; got != want {
			t.Errorf("%q is command %q, want %q", text, got, want)
		}
	}
}
