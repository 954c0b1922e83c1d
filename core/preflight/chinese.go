package preflight

import (
	"slices"
	"strings"

	"paragents/core/lazy"
)

// What stands between a Chinese verb and its path.
const filler = `(?:了|一下|下|一份|一个|个|新的?|名为|叫做?|文件夹?|目录|脚本|文档|代码|配置|测试|这个|该|:|：|\s)*$`

const (
	hanMakes   = `写入|写出|编写|写|创建|新建|建立|生成|保存|存|导出|输出|添加|新增|增加|加|创作|落盘|追加|附加|插入|补充|放|记录|记|下载|打印|收集|备份|同步|整理|汇总|总结|翻译|转换|转|渲染|编译|提取|解压|打包|压缩|合并|重定向`
	hanChanges = `修改|更改|编辑|更新|改写|重写|重构|调整|完善|修复|修正|优化|替换|覆盖|格式化|补充|改|修`
	hanDeletes = `删除|删掉|移除|清空|去掉|删`
	hanMoves   = `重命名|改名|移动|挪动|移`
	hanCopies  = `复制|拷贝`
)

// How Chinese clauses say it: before the path, and after it.
var (
	hanDirect = []struct { // by the verb right in front of the path
		does string
		verb *lazy.Regexp
	}{
		{"append", lazy.Compile(`(?:追加|附加)` + filler)},
		{"edit_file", lazy.Compile(`(?:` + hanChanges + `)` + filler)},
		{"delete", lazy.Compile(`(?:` + hanDeletes + `)` + filler)},
		{"move", lazy.Compile(`(?:` + hanMoves + `)` + filler)},
		{"run", lazy.Compile(`(?:运行|执行|跑)` + filler)},
		{"write_file", lazy.Compile(`(?:写入|写出|编写|写|创建|新建|建立|生成|保存|导出|输出|添加|新增|增加|创作)` + filler)},
	}
	hanTo     = lazy.Compile(`(?:.*)(` + hanMakes + `|` + hanChanges + `|` + hanMoves + `|` + hanCopies + `)[^，。；]{0,20}?(?:到|至|进|入|为|成|在|于)` + filler)
	hanOf     = lazy.Compile(`(把|将|对|给|在|往|向|从)` + filler)
	hanVerb   = lazy.Compile(`(查看|查找|读取|读|检查|分析|搜索|统计|解释|看|运行|执行|测试|对比|列出|` + hanDeletes + `|` + hanMoves + `|` + hanChanges + `|` + hanMakes + `|` + hanCopies + `)(入|到|进|成|为)?`)
	hanAnd    = lazy.Compile(`^\s*(?:、|和|及|与|以及|跟|或|and|,)\s*$`)
	hanFolder = lazy.Compile(`(?:目录|文件夹)` + filler)
	hanLost   = lazy.Compile(`吗|怎么|怎样|如何|为什么|为何|是否`)
	hanAsked  = lazy.Compile(`能|可以|帮|请|麻烦`)
)

// chinese reads a line of Chinese for what it asks to be written, clause by clause.
func (f *finder) chinese(toks []token) {
	from := 0
	for i, t := range toks {
		if t.kind == punctToken && strings.Contains("。！？；，;", t.text) {
			f.clause(toks[from:i])
			from = i + 1
		}
	}
	f.clause(toks[from:])
}

func (f *finder) clause(toks []token) {
	between := []string{""} // text around the paths
	var paths []token
	for _, t := range toks {
		if t.kind == pathToken {
			paths, between = append(paths, t), append(between, "")
			continue
		}
		between[len(paths)] += t.text + map[bool]string{true: " "}[t.kind == wordToken]
	}
	whole := strings.Join(between, "")
	sure := !hanLost.MatchString(whole) || strings.Contains(whole, "吗") && hanAsked.MatchString(whole)
	does := ""
	for i, p := range paths {
		before := between[i]
		if i == 0 || !hanAnd.MatchString(before) {
			if does = hanAction(between[max(0, i-1)], before, between[i+1], i+1 < len(paths)); forbidden(between[0]) || forbidden(leading(before)) {
				does = ""
			}
		}
		switch {
		case does == "run":
			f.runs(p.text)
		case does != "":
			confidence := weak
			if sure && (p.sure || hanTo.MatchString(before) || hanFolder.MatchString(before)) {
				confidence = clear
			}
			f.does(does, confidence)
			f.write(p.text, confidence)
		}
	}
}

// leading is what stands in front of the first verb of a text.
func leading(text string) string {
	if at := hanVerb.FindStringIndex(text); at != nil {
		return text[:at[0]]
	}
	return text
}

// hanAction is what happens to the path between two texts. earlier is what stands before the path in front of it, more says that another one
// follows. Empty: nothing.
func hanAction(earlier, before, after string, more bool) string {
	if m := hanOf.FindStringSubmatch(before); m != nil {
		if v := hanVerb.FindStringSubmatch(after); v != nil {
			return hanObject(m[1], v[1], v[2] != "" && more)
		}
	}
	if m := hanTo.FindStringSubmatch(earlier + " " + before); m != nil {
		if strings.Contains(m[0], "追加") || strings.Contains(m[0], "附加") {
			return "append"
		}
		return hanVerbAction(m[1])
	}
	for _, d := range hanDirect {
		if d.verb.MatchString(before) {
			if d.does == "write_file" && hanFolder.MatchString(before) {
				return "mkdir"
			}
			return d.does
		}
	}
	return ""
}

// hanObject is what a verb does to the path that a preposition puts in front of it; source says that it goes elsewhere.
func hanObject(prep, v string, source bool) string {
	does := hanVerbAction(v)
	switch {
	case does == "copy", prep == "从" && does != "delete" && does != "move":
		return ""
	case does == "delete" && (prep == "从" || prep == "在"):
		return "edit_file"
	case does == "write_file" || does == "append":
		if source || prep == "把" || prep == "将" {
			return ""
		}
	}
	return does
}

func hanVerbAction(v string) string {
	in := func(list string) bool { return slices.Contains(strings.Split(list, "|"), v) }
	switch {
	case in(hanCopies):
		return "copy"
	case in(hanMoves):
		return "move"
	case in(hanDeletes):
		return "delete"
	case v == "追加" || v == "附加":
		return "append"
	case in(hanChanges):
		return "edit_file"
	case in(hanMakes):
		return "write_file"
	}
	return ""
}
