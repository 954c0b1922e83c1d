package preflight

import (
	"strings"

	"paragents/core/lazy"
)

// asks is in front of an English verb that asks for something.
const asks = `(?i)(?:^|[.,;:!?]\s*|\x{FFFC}\s*|\b(?:and|then|please|to|also|now|just|you|finally|afterwards)\s+|[\p{Han}，。；、！]\s*)(?:git\s+)?`

// Requests that name no file. after holds what may follow.
var (
	commits = []*lazy.Regexp{
		lazy.Compile(asks + `commit\b(?P<after>.{0,20})`),
		lazy.Compile(`(?i)\b(?:make|create|do)\s+(?:(?:a|one|the|another)\s+)?(?:git\s+)?commit\b(?P<after>.{0,20})`),
		lazy.Compile(`(?:代码|改动|修改|变更|更改).{0,4}提交(?P<after>.{0,6})`),
		lazy.Compile(`提交(?:一下|这次|本次|所有|全部|当前|我的|你的|这些|的|\s)*(?:代码|改动|修改|变更|更改)(?P<after>.{0,6})`),
		lazy.Compile(`(?:^|[，。；、]|并|然后|再|后|请)\s*提交(?:一下)?(?P<after>$|[，。；！]|并|然后|再|到)`),
	}
	notCommit = lazy.Compile(`(?i)^\s*(?:messages?|hash|hashes|history|log|logs|id|ids|sha|hooks?|suicide|的?(?:记录|历史|信息|日志|说明|规范|者|时间|哈希))`)
	oldCommit = lazy.Compile(`(?:上一?次|最近|最后一次|每次|历史)的?$`)
	pushes    = []*lazy.Regexp{
		lazy.Compile(asks + `push\b(?P<after>.{0,80})`),
		lazy.Compile(`(?:推送|推)(?P<after>(?:代码|分支|改动|提交|一下)?(?:[到至上]|$|[，。；！]|并|然后).{0,80})`),
		lazy.Compile(`(?:推送|推)(?P<after>(?:代码|分支|改动|提交).{0,80})`),
	}
	notPush = lazy.Compile(`(?i)^\s*(?:notifications?|buttons?|messages?|events?|api|back|down|forward|services?|通知|消息)`)
	target  = lazy.Compile(`(?i)(?:\bto|到|至)\s*(?:the\s+)?(?:remote\s+|branch\s+|远程(?:仓库)?的?\s*|分支\s*)?([a-z0-9][\w.-]*)(?:(?:/|\s+)([a-z0-9][\w./-]*))?`)
	branch  = lazy.Compile(`(?i)(?:\bbranch|分支)\s+([a-z0-9][\w./-]*)`)
	opensPR = []*lazy.Regexp{
		lazy.Compile(`(?i)\b(?:open|create|submit|raise|make|file|send|prepare|draft)\s+(?:(?:a|an|the|another|new|draft|github)\s+)*(?:prs?|pull[ -]requests?|merge[ -]requests?|mr)\b(?P<after>)`),
		lazy.Compile(`(?i)(?:发起|创建|提交|提|开|新建|发|建)(?:一个|个|新的?|\s)*(?:PR|MR|pull request|merge request|合并请求|拉取请求)(?P<after>)`),
	}
	trees = []*lazy.Regexp{
		lazy.Compile(asks + `(?:(?:check\s?out|switch to|merge|pull)\b[^.,;]{0,40}\bbranch|rebase|stash|pull\s+(?:the\s+)?latest|pull\s+from\s+(?:origin|upstream|remote))\b(?P<after>.{0,20})`),
		lazy.Compile(`(?:切换到|切到|检出|合并|变基|拉取)[^，。；]{0,20}(?:分支|最新的?代码)(?P<after>)`),
	}
	mentions = []struct {
		capability, action string
		text               *lazy.Regexp
	}{
		{"web", "", lazy.Compile(`(?i)https?://|\b(?:search|browse)\s+the\s+web\b|\bgoogle\b|联网|上网|网上|网页`)},
		{"python", "", lazy.Compile(`(?i)\bpython\b`)},
		{"shell", "", lazy.Compile(`(?i)\b(?:shell|bash|zsh|terminal)\b|执行命令|终端`)},
		{"", "script", lazy.Compile(`(?i)\b(?:write|create|run|execute|make|add)\s+(?:\w+\s+){0,3}script\b|(?:写|运行|执行|创建|跑)[^，。；]{0,10}脚本`)},
	}
	stopTarget = set("the remote github gitlab it my our your server repo repository production staging users user and then")
)

// phrases reads a line for requests that name no file: commits, pushes, pull requests and changes of branch.
func (f *finder) phrases(line string) {
	confidence := clear
	if question.MatchString(line) {
		confidence = weak
	}
	for _, m := range mentions {
		if m.text.MatchString(line) {
			if m.capability != "" {
				f.can(m.capability)
			}
			if m.action != "" {
				f.does(m.action, weak)
			}
		}
	}
	if _, ok := asked(line, opensPR, nil); ok {
		f.can("github")
		f.does("pr", confidence)
	}
	if _, ok := asked(line, commits, notCommit); ok {
		f.can("git")
		f.does("commit", confidence)
		f.claim(GitIndex, confidence)
	}
	if _, ok := asked(line, trees, nil); ok {
		f.does("checkout", confidence)
		f.tree(confidence)
	}
	if after, ok := asked(line, pushes, notPush); ok {
		f.can("git")
		f.does("push", confidence)
		f.claim(f.pushTarget(after), confidence)
	}
}

// asked returns what follows the first request that is not forbidden.
func asked(line string, requests []*lazy.Regexp, not *lazy.Regexp) (after string, ok bool) {
	for _, r := range requests {
		for _, at := range r.FindAllStringSubmatchIndex(line, 8) {
			n := 2 * r.SubexpIndex("after")
			after = line[at[n]:at[n+1]]
			if not != nil && not.MatchString(after) || told(strings.TrimSpace(after)) || forbidden(line[:at[0]]+" ") || forbidden(line[:at[n]]) || oldCommit.MatchString(line[max(0, at[0]-24):at[0]]) {
				continue
			}
			return after, true
		}
	}
	return "", false
}

// pushTarget is the branch that the text after "push" names.
func (f *finder) pushTarget(after string) Claim {
	if m := target.FindStringSubmatch(after); m != nil && !stopTarget[strings.ToLower(m[1])] {
		first, second := m[1], strings.TrimRight(m[2], ".")
		if first == f.w.Remote || first == "origin" || first == "upstream" {
			if stopTarget[strings.ToLower(second)] {
				second = ""
			}
			return Push(first, second)
		}
		if strings.Contains(m[0], "/") {
			return Push(f.w.Remote, first+"/"+second) // to feature/x
		}
		return Push(f.w.Remote, strings.TrimRight(first, "."))
	}
	if m := branch.FindStringSubmatch(after); m != nil {
		return Push(f.w.Remote, strings.TrimRight(m[1], "."))
	}
	return Push(f.w.Remote, f.w.Branch)
}
