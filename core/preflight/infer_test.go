package preflight_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"paragents/core/preflight"
)

// commands are what the analyser of the tests knows: what each command writes, after "!" if there may be more.
type commands map[string]string

// world answers from the commands, and remembers those that it was asked about.
func world(known commands, asked *[]string) preflight.World {
	return preflight.World{
		Root: "/srv/ws", Home: "/home/rob", Branch: "work",
		Analyse: func(c string) ([]string, bool) {
			*asked = append(*asked, c)
			writes, ok := known[c]
			writes, more := strings.CutPrefix(writes, "!")
			return strings.Fields(writes), ok && !more
		},
	}
}

func TestInfer(t *testing.T) {
	const sure, clear, weak, none = 0.9, 0.8, 0.5, 0.3
	for _, tt := range []struct {
		text       string
		runs       commands
		writes     string
		claims     string // if they differ from writes; "-" for none
		actions    string
		confidence float64
	}{
		// English: writing
		{text: "Write a summary to notes/today.md", writes: "notes/today.md", actions: "write_file", confidence: clear},
		{text: "please save the result as ./out/result.json.", writes: "out/result.json", actions: "write_file", confidence: clear},
		{text: "Output the table to \"my report.csv\"", writes: "my report.csv", actions: "write_file", confidence: clear},
		{text: "create a.txt, b.txt and c.txt", writes: "a.txt b.txt c.txt", actions: "write_file", confidence: clear},
		{text: "Summarize report.md into summary.md", writes: "summary.md", actions: "write_file", confidence: clear},
		{text: "read a.txt and write what you learn to b.txt", writes: "b.txt", actions: "write_file", confidence: clear},
		{text: "Generate docs/api.html from api.yaml", writes: "docs/api.html", actions: "write_file", confidence: clear},
		{text: "append a line to CHANGELOG.md", writes: "CHANGELOG.md", actions: "append", confidence: clear},
		{text: "Add tests to src/parse_test.go", writes: "src/parse_test.go", actions: "write_file", confidence: clear},
		{text: "create a directory called out/logs", writes: "out/logs", actions: "mkdir", confidence: clear},
		{text: "the answer should be saved to `answers/42.txt`", writes: "answers/42.txt", actions: "write_file", confidence: clear},
		{text: "Can you put it in build/config.yaml?", writes: "build/config.yaml", actions: "write_file", confidence: clear},
		{text: "write tests for main.go", confidence: none},
		// English: changing
		{text: "Fix the typo in README.md", writes: "README.md", actions: "edit_file", confidence: clear},
		{text: "In src/main.go, rename foo to bar and fix the imports", writes: "src/main.go", actions: "edit_file", confidence: clear},
		{text: "edit main.go:42 so that util.go compiles", writes: "main.go", actions: "edit_file", confidence: clear},
		{text: "update all of src/**/*.ts", writes: "src/**/*.ts", actions: "edit_file", confidence: clear},
		{text: "rename old.txt to new.txt", writes: "new.txt old.txt", actions: "move", confidence: clear},
		{text: "move lib/a.go into pkg/", writes: "lib/a.go pkg", claims: "lib/a.go pkg/**", actions: "move", confidence: clear},
		{text: "copy a.txt to b.txt", writes: "b.txt", actions: "copy", confidence: clear},
		{text: "edit src\\main.go and \"no such thing\" and a.b(c)", writes: "src/main.go", actions: "edit_file", confidence: clear},
		{text: "duplicate a.txt as b.txt", writes: "b.txt", actions: "copy", confidence: clear},
		{text: "delete tmp/old.log", writes: "tmp/old.log", actions: "delete", confidence: clear},
		{text: "remove the dead function from util.go", writes: "util.go", actions: "edit_file", confidence: clear},
		{text: "update the Dockerfile and .gitignore", writes: ".gitignore Dockerfile", actions: "edit_file", confidence: clear},
		{text: "create guide.md in docs/", writes: "docs/guide.md", actions: "write_file", confidence: clear},
		{text: "create guide.md inside the docs folder, then stop", writes: "docs/guide.md", actions: "write_file", confidence: clear},
		{text: "To do:\n1. create x.go\n- update y.go", writes: "x.go y.go", actions: "edit_file write_file", confidence: clear},
		{text: "Delete everything in build/", writes: "build", claims: "build/**", actions: "edit_file", confidence: clear},
		{text: "add a link to docs/a.md in README.md", writes: "README.md", actions: "write_file", confidence: clear},
		// English: nothing, or not sure
		{text: "what does write.go do?", confidence: none},
		{text: "How do I write to out.txt?", writes: "out.txt", claims: "-", actions: "write_file", confidence: weak},
		{text: "the tests write to out.txt", writes: "out.txt", claims: "-", actions: "write_file", confidence: weak},
		{text: "it crashes when writing cache.json", writes: "cache.json", claims: "-", actions: "write_file", confidence: weak},
		{text: "it fails to save settings.json", writes: "settings.json", claims: "-", actions: "write_file", confidence: weak},
		{text: "update client/server/protocol", writes: "client/server/protocol", claims: "-", actions: "edit_file", confidence: weak},
		{text: "don't touch main.go, update util.go", writes: "util.go", actions: "edit_file", confidence: clear},
		{text: "don't touch a.go but instead update b.go", writes: "b.go", actions: "edit_file", confidence: clear},
		{text: "explain main.go without changing it", confidence: none},
		{text: "upgrade to Node.js 22 and use github.com/x/y and/or e.g. v1.2", confidence: none},
		{text: "compare a.txt to b.txt", confidence: none},
		{text: "write to ../secret.txt and /etc/hosts and ~/notes.md", actions: "write_file", confidence: clear},
		{text: "write /srv/ws/a/b.txt", writes: "a/b.txt", actions: "write_file", confidence: clear},
		// Chinese
		{text: "请把这次代码提交，并输出到 reports/result.json", writes: "reports/result.json", claims: "git:index reports/result.json", actions: "commit write_file", confidence: clear},
		{text: "把结果保存到out.txt文件里", writes: "out.txt", actions: "write_file", confidence: clear},
		{text: "创建一个名为 a.py 的脚本", writes: "a.py", actions: "write_file", confidence: clear},
		{text: "写一个排序函数到 sort.go", writes: "sort.go", actions: "write_file", confidence: clear},
		{text: "修改 a.go、b.go 和 c.go", writes: "a.go b.go c.go", actions: "edit_file", confidence: clear},
		{text: "把 a.txt 复制到 b.txt", writes: "b.txt", actions: "copy", confidence: clear},
		{text: "将 old.txt 重命名为 new.txt", writes: "new.txt old.txt", actions: "move", confidence: clear},
		{text: "删除 tmp/old.log", writes: "tmp/old.log", actions: "delete", confidence: clear},
		{text: "追加一行到 CHANGELOG.md", writes: "CHANGELOG.md", actions: "append", confidence: clear},
		{text: "在 src/main.go 中添加日志", writes: "src/main.go", actions: "write_file", confidence: clear},
		{text: "把 README.md 里的 foo 改成 bar", writes: "README.md", actions: "edit_file", confidence: clear},
		{text: "根据 a.md 写 b.md", writes: "b.md", actions: "write_file", confidence: clear},
		{text: "把 a.txt 的内容写入 b.txt", writes: "b.txt", actions: "write_file", confidence: clear},
		{text: "新建目录 out/logs", writes: "out/logs", actions: "mkdir", confidence: clear},
		{text: "写入报告.md", writes: "报告.md", actions: "write_file", confidence: clear},
		{text: "更新docs/说明.md并提交", writes: "docs/说明.md", claims: "docs/说明.md git:index", actions: "commit edit_file", confidence: clear},
		{text: "能不能把总结写到“总结 一.md”吗？", writes: "总结 一.md", actions: "write_file", confidence: clear},
		{text: "在 main.go 中查找写入函数", confidence: none},
		{text: "不要修改 main.go", confidence: none},
		{text: "别动 main.go，修改 util.go", writes: "util.go", actions: "edit_file", confidence: clear},
		{text: "怎么写入 out.txt？", writes: "out.txt", claims: "-", actions: "write_file", confidence: weak},
		{text: "查看 a.go 和 b.go", confidence: none},
		{text: "重命名 a.go 为 b.go", writes: "a.go b.go", actions: "move", confidence: clear},
		{text: "从 a.go 中删除 foo 函数", writes: "a.go", actions: "edit_file", confidence: clear},
		{text: "在 src 目录下创建 a.go", writes: "src/a.go", actions: "write_file", confidence: clear},
		{text: "在 docs/ 下新建 guide.md", writes: "docs/guide.md", actions: "write_file", confidence: clear},
		{text: "在 log.txt 末尾追加一行", writes: "log.txt", actions: "append", confidence: clear},
		{text: "把 a.txt 删除", writes: "a.txt", actions: "delete", confidence: clear},
		{text: "run gen.py in bash", actions: "run_command script", confidence: weak},
		{text: "运行 deploy.py", actions: "run_command script", confidence: weak},
		// Commit, push, pull request, branches
		{text: "commit the changes and push to origin/main", claims: "git:index git:push:origin/main", actions: "commit push", confidence: clear},
		{text: "fix a.go, commit and push", writes: "a.go", claims: "a.go git:index git:push:origin/work", actions: "commit edit_file push", confidence: clear},
		{text: "push to the server", claims: "git:push:origin/work", actions: "push", confidence: clear},
		{text: "push to feature/y.", claims: "git:push:origin/feature/y", actions: "push", confidence: clear},
		{text: "push to upstream and stop", claims: "git:push:upstream", actions: "push", confidence: clear},
		{text: "Push it to dev.", claims: "git:push:origin/dev", actions: "push", confidence: clear},
		{text: "push branch feature/x", claims: "git:push:origin/feature/x", actions: "push", confidence: clear},
		{text: "提交代码并推送到 main 分支", claims: "git:index git:push:origin/main", actions: "commit push", confidence: clear},
		{text: "帮我发起一个PR", actions: "pr", confidence: clear},
		{text: "Open a pull request against main", actions: "pr", confidence: clear},
		{text: "switch to the release branch", writes: ".", claims: ". git:index", actions: "checkout", confidence: clear},
		{text: "切换到 dev 分支", writes: ".", claims: ". git:index", actions: "checkout", confidence: clear},
		{text: "explain the last commit message", confidence: none},
		{text: "add push notifications", confidence: none},
		{text: "不要提交代码，也不要推送", confidence: none},
		{text: "do not commit, do not push", confidence: none},
		{text: "查看上次提交的代码提交记录", confidence: none},
		// Commands
		{text: "run `python gen.py > out/a.json` and save the log to gen.log", runs: commands{"python gen.py > out/a.json": "/srv/ws/out/a.json"},
			writes: "gen.log out/a.json", actions: "run_command script write_file", confidence: sure},
		{text: "git commit -m 'x > y.txt'", runs: commands{"git commit -m 'x > y.txt'": ""}, claims: "git:index", actions: "commit run_command", confidence: sure},
		{text: "$ git push -u origin HEAD:main", runs: commands{"git push -u origin HEAD:main": ""}, claims: "git:push:origin/main", actions: "push run_command", confidence: sure},
		{text: "$ git push https://rob:secret@example.com/r.git v1", runs: commands{"git push https://rob:secret@example.com/r.git v1": ""},
			claims: "git:push:example.com/r.git/v1", actions: "push run_command", confidence: sure},
		{text: "$ git push $REMOTE x", runs: commands{"git push $REMOTE x": ""}, claims: "git:push:*", actions: "push run_command", confidence: sure},
		{text: "$ gen >> log.txt", runs: commands{"gen >> log.txt": "! /srv/ws/log.txt"}, writes: "log.txt", actions: "append run_command", confidence: sure},
		{text: "$ git -C sub push -o ci.skip up +a:refs/heads/b c 'd*'", runs: commands{"git -C sub push -o ci.skip up +a:refs/heads/b c 'd*'": ""},
			claims: "git:push:up git:push:up/b git:push:up/c", actions: "push run_command", confidence: sure},
		{text: "$ git stash list && git --version && git", runs: commands{"git stash list && git --version && git": ""}, actions: "run_command", confidence: sure},
		{text: "$ gh pr create --fill", runs: commands{"gh pr create --fill": ""}, actions: "pr run_command", confidence: sure},
		{text: "$ sed -i s/a/b/ x.go; ./gen.sh; curl -s \"$URL\"", runs: commands{"sed -i s/a/b/ x.go; ./gen.sh; curl -s \"$URL\"": "x.go"}, writes: "x.go",
			actions: "edit_file run_command script", confidence: sure},
		{text: "Run: cp a.txt b.txt; mv c d", runs: commands{"cp a.txt b.txt; mv c d": "b.txt c d"}, writes: "b.txt c d", actions: "copy move run_command", confidence: sure},
		{text: "please run the following command: echo x > a.txt", runs: commands{"echo x > a.txt": "a.txt"}, writes: "a.txt", actions: "run_command write_file", confidence: sure},
		{text: "Command: `cp a.txt b.txt`", runs: commands{"cp a.txt b.txt": "b.txt"}, writes: "b.txt", actions: "copy run_command", confidence: sure},
		{text: "Try: cp a.txt b.txt", runs: commands{"cp a.txt b.txt": "b.txt"}, writes: "b.txt", actions: "copy run_command", confidence: sure},
		{text: "do not run: cp a.txt b.txt", confidence: none},
		{text: "运行以下命令：cp a.txt b.txt", runs: commands{"cp a.txt b.txt": "b.txt"}, writes: "b.txt", actions: "copy run_command", confidence: sure},
		{text: "cp a.txt b.txt, then stop.", runs: commands{"cp a.txt b.txt": "b.txt"}, writes: "b.txt", actions: "copy run_command", confidence: sure},
		{text: "$ A=b; git push", runs: commands{"A=b; git push": ""}, claims: "git:push:origin/work", actions: "push run_command", confidence: sure},
		{text: "$ git push fork HEAD", runs: commands{"git push fork HEAD": ""}, claims: "git:push:fork/work", actions: "push run_command", confidence: sure},
		{text: "$ touch git:index", runs: commands{"touch git:index": "git:index"}, actions: "run_command write_file", confidence: sure},
		{text: "run echo yes, and no > it.txt", runs: commands{"echo yes, and no > it.txt": "it.txt"}, writes: "it.txt", actions: "run_command write_file", confidence: sure},
		{text: "$ git push --all", runs: commands{"git push --all": ""}, claims: "git:push:origin", actions: "push run_command", confidence: sure},
		{text: "please git checkout main and then fix a.go", runs: commands{"git checkout main": "/srv/ws/**"}, writes: ". a.go", claims: ". a.go git:index",
			actions: "checkout edit_file run_command", confidence: sure},
		{text: "执行 cp -r src dst 然后提交代码", runs: commands{"cp -r src dst": "/srv/ws/dst/**"}, writes: "dst", claims: "dst/** git:index", actions: "commit copy run_command", confidence: sure},
		{text: "```sh\nmake\nmv a b\n```\nthen read b", runs: commands{"make\nmv a b": "/srv/ws/a /srv/ws/b"}, writes: "a b", actions: "move run_command", confidence: sure},
		{text: "```\n$ mkdir -p x/y\nok\n```", runs: commands{"mkdir -p x/y": "/srv/ws/x/y"}, writes: "x/y", actions: "mkdir run_command", confidence: sure},
		{text: "```python\nopen('a.txt','w') # write a.txt\n```", confidence: none},
		{text: "run cat a.txt > $OUT", runs: commands{"cat a.txt > $OUT": "?"}, actions: "run_command write_file", confidence: sure},
		{text: "run the tests > test.log", confidence: none},
		{text: "run pytest to see why", runs: commands{"pytest": ""}, actions: "run_command", confidence: sure},
		{text: "What does `git reset --hard` do?", runs: commands{"git reset --hard": "/srv/ws/**"}, writes: ".", claims: "-", actions: "reset run_command", confidence: weak},
		{text: "never run `rm -rf build`", confidence: none},
		{text: "$ if then", actions: "run_command", confidence: weak},
		{text: "- echo it is to me > /dev/null", runs: commands{"echo it is to me > /dev/null": ""}, actions: "run_command", confidence: sure},
		{text: "$ sudo bash -c 'git stash'", runs: commands{"sudo bash -c 'git stash'": "."}, writes: ".", claims: ". git:index git:stash", actions: "run_command stash", confidence: sure},
		{text: "run LC_ALL=C cp a.txt b.txt `as said`", runs: commands{"LC_ALL=C cp a.txt b.txt": "b.txt"}, writes: "b.txt", actions: "copy run_command", confidence: sure},
		{text: "explain what a git thing is", confidence: none},
		// Prose that only looks like one
		{text: "if a > b then c", confidence: none},
		{text: "map x -> y.go and check that n >= 3", confidence: none},
		{text: "> write a.txt\n> run `rm b`\nwhat did he mean?", confidence: none},
		{text: "he said \"delete a.txt > b.txt\" to me", confidence: none},
		{text: "python > ruby in speed", confidence: none},
		{text: "is main.go > util.go in size?", confidence: none},
		{text: "git checkout fails on my machine", confidence: none},
		{text: "rebase failed, push fails, commit works", confidence: none},
		{text: "it says that git push failed", confidence: none},
		{text: "`a > b` is true", confidence: none},
		{text: "find out whether a > b.txt", confidence: none},
		{text: "make the page load in > 90% of cases", confidence: none},
		{text: "", confidence: none},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var asked []string
			g := preflight.Infer(tt.text, world(tt.runs, &asked))
			claims := tt.claims
			if claims == "" {
				claims = tt.writes
			}
			for _, c := range []struct {
				what, want string
				got        []string
			}{
				{"writes", strings.ReplaceAll(tt.writes, "my report", "my\u00a0report"), g.Writes},
				{"claims", strings.ReplaceAll(strings.Trim(claims, "-"), "my report", "my\u00a0report"), strs(g.Claims)},
				{"actions", tt.actions, g.Actions},
			} {
				got := strings.Join(c.got, " ")
				if want := strings.ReplaceAll(c.want, "\u00a0", " "); got != want {
					t.Errorf("%s = %q, want %q", c.what, got, want)
				}
			}
			if g.Confidence != tt.confidence {
				t.Errorf("confidence = %v, want %v", g.Confidence, tt.confidence)
			}
			slices.Sort(asked)
			if want := slices.Sorted(maps.Keys(tt.runs)); len(want) > 0 && !slices.Equal(asked, want) {
				t.Errorf("commands = %q, want %q", asked, want)
			}
			if t.Failed() {
				t.Logf("notes: %q", g.Notes)
			}
		})
	}
}

func TestInferSaysWhatItLeftOut(t *testing.T) {
	var asked []string
	w := world(nil, &asked)
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct{ text, note string }{
		{"write to ../secret.txt", "outside the workspace, not claimed: ../secret.txt"},
		{"write to ~/a.md", "outside the workspace, not claimed: /home/rob/a.md"},
		{"write to ~bob/a.md", "outside the workspace, not claimed: ~bob/a.md"},
		{"$ unknown", "what this command writes is fully known only when it runs: unknown"},
		{"```sh\necho " + long + "\n```", "too long to be looked at: echo xxxxx"},
		{strings.Repeat("word ", 10000), "only the first 32 KiB of the text were looked at"},
		{strings.Repeat("$ ls\n", 50), "only the first 32 commands were looked at"},
		{"write " + many(600), "only the first 500 paths were taken"},
	} {
		g := preflight.Infer(tt.text, w)
		if !slices.ContainsFunc(g.Notes, func(n string) bool { return strings.HasPrefix(n, tt.note) && len(n) < 120 }) {
			t.Errorf("%.30q: notes %q, want %q", tt.text, g.Notes, tt.note)
		}
	}
}

// many are the names of n files, in lines.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d.txt, ", i)
		if i%50 == 49 {
			b.WriteString("\nwrite ")
		}
	}
	return b.String()
}

func TestInferCapabilities(t *testing.T) {
	var asked []string
	for text, want := range map[string]string{
		"search the web for python news in a terminal": "python shell web",
		"发起PR并提交代码，联网查资料，写入 a.md":                      "filesystem git github web",
		"what time is it?": "",
	} {
		if got := strings.Join(preflight.Infer(text, world(nil, &asked)).Capabilities, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The wire form is what scripts read: all of its keys, and lists that are never null.
func TestGuessJSON(t *testing.T) {
	var asked []string
	for text, want := range map[string]string{
		"": `{"capabilities":[],"actions":[],"writes":[],"claims":[],"confidence":0.3,"notes":[]}`,
		"append to ./a.md, commit": `{"capabilities":["filesystem","git"],"actions":["append","commit"],"writes":["a.md"],"claims":["a.md","git:index"],` +
			`"confidence":0.8,"notes":[]}`,
	} {
		got, err := json.Marshal(preflight.Infer(text, world(nil, &asked)))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func strs(claims []preflight.Claim) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = string(c)
	}
	return out
}
