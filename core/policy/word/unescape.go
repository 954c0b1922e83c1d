package word

import (
	"strings"
	"unicode/utf8"
)

// UnescapeDouble removes the backslashes that mean something within double quotes.
func UnescapeDouble(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			switch text[i+1] {
			case '\n':
				i++
				continue
			case '$', '"', '\\', '`':
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// UnescapeAnsi decodes the text of $'…'; false means that it holds a NUL, where the shell cuts it.
func UnescapeAnsi(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if j := strings.IndexByte(`abeEfnrtv\'"?`, text[i]); j >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[j])
			continue
		}
		value, used, wide := 0, 0, false
		switch text[i] {
		case 'x':
			value, used = radix(text[i+1:], 16, 2)
		case 'u':
			value, used = radix(text[i+1:], 16, 4)
			wide = true
		case 'U':
			value, used = radix(text[i+1:], 16, 8)
			wide = true
		case 'c':
			if i+1 < len(text) {
				value, used = int(text[i+1])&0x1f, 1
			}
		default:
			if value, used = radix(text[i:], 8, 3); used > 0 {
				i--
			}
		}
		if used == 0 {
			b.WriteByte('\\')
			b.WriteByte(text[i])
			continue
		}
		i += used
		if !wide {
			value &= 0xff
		}
		if value == 0 {
			return b.String(), false
		}
		if wide {
			b.Write(utf8.AppendRune(nil, rune(value)))
		} else {
			b.WriteByte(byte(value))
		}
	}
	return b.String(), true
}

// radix reads up to most digits of a number.
func radix(text string, base, most int) (value, used int) {
	for used < most && used < len(text) {
		d := strings.IndexByte("0123456789abcdef", text[used]|0x20)
		if c := text[used]; c >= '0' && c <= '9' {
			d = int(c - '0')
		}
		if d < 0 || d >= base {
			break
		}
		value = value*base + d
		used++
	}
	return value, used
}
