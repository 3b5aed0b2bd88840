package units

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes the characters of encoded JSON that a terminal could obey. The encoder of the
// standard library escapes only those below U+0020.
func EscapeJSON(text []byte) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r < utf8.RuneSelf && r != 0x7f || !unprintable(r) {
			i += n
			continue
		}
		out := append([]byte{}, text[:i]...)
		for ; i < len(text); i += n {
			r, n = utf8.DecodeRune(text[i:])
			if r < utf8.RuneSelf && r != 0x7f || !unprintable(r) {
				out = append(out, text[i:i+n]...)
			} else if high, low := utf16.EncodeRune(r); r > 0xffff {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
		}
		return out
	}
	return text
}
