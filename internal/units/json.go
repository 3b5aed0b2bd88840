package units

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes the characters of encoded JSON that a terminal could obey. The encoder of the
// standard library escapes only those below U+0020.
func EscapeJSON(text []byte) []byte {
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
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

// NewJSONEncoder returns an encoder whose output has no character that a terminal could obey. All
// JSON for users is written by it, by EscapeJSON or by Terminal.JSON.
func NewJSONEncoder(out io.Writer) *json.Encoder { return json.NewEncoder(escaper{out}) }

// escaper escapes encoded JSON.
type escaper struct{ out io.Writer }

func (e escaper) Write(text []byte) (int, error) {
	if _, err := e.out.Write(EscapeJSON(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
