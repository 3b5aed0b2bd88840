package units

import (
	"bytes"
	"strings"
	"testing"
)

func TestPrintableReplacesWhatATerminalObeys(t *testing.T) {
	for in, want := range map[string]string{
		"iperf3":                  "iperf3",
		"naïve 日本":                "naïve 日本",
		"\x1b]0;title\a":          "?]0;title?",
		"two\nlines":              "two?lines",
		"\u202egpj.exe":           "?gpj.exe",
		"\xff\xfe":                "??",
		"\u009b31m":               "?31m",
		"/user.slice/a\tb\r\x7f.": "/user.slice/a?b??.",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestPrintableTextKeepsLinesAndColours(t *testing.T) {
	const text = "a\x1b[1;31mred\x1b[0m\n\x1b[2Jb\x1b[mc\x1b"
	if got, want := PrintableText(text, true), "a\x1b[1;31mred\x1b[0m\n?[2Jb\x1b[mc?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := PrintableText(text, false), "a?[1;31mred?[0m\n?[2Jb?[mc?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCellStopsFormulas(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "cubic": "cubic", "-bash": "-bash", "/a=b": "/a=b",
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+1a": "'+1a", "-1+2": "'-1+2",
		"-cmd|' /C calc'!A0": "'-cmd|' /C calc'!A0",
		"-1e+06":             "-1e+06",
		"+1.5":               "+1.5",
		"\t=1+1":             "?=1+1",
		"a\x1b[2J\nb":        "a?[2J?b",
	} {
		if got := Cell(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// The way in which a text is split into writes makes no difference.
func TestTextWriterCleansAnyPartsOfAText(t *testing.T) {
	const text = "a\tä 漢\x1b[1;31mred\x1b[0m\n\x1b[2Jb\u009b31m\u202ec\x00\xff\xe6\xbcd\x1b]0;x\a\r\n"
	for _, colour := range []bool{false, true} {
		want := "a\tä 漢?[1;31mred?[0m\n?[2Jb?31m?c????d?]0;x??\n"
		if colour {
			want = strings.NewReplacer("?[1;31m", "\x1b[1;31m", "?[0m", "\x1b[0m").Replace(want)
		}
		for size := 1; size <= len(text); size++ {
			var b bytes.Buffer
			w := NewTextWriter(&b, colour)
			for at := 0; at < len(text); at += size {
				part := text[at:min(at+size, len(text))]
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if b.String() != want {
				t.Errorf("in parts of %d, colour %t: %q, want %q", size, colour, b.String(), want)
			}
		}
	}
}

func TestTextWriterDoesNotKeepALongUnfinishedSequence(t *testing.T) {
	var b bytes.Buffer
	w := NewTextWriter(&b, true)
	text := "\x1b[" + strings.Repeat("1", 1000)
	for _, c := range text {
		if _, err := w.Write([]byte(string(c))); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); got != "?"+text[1:] {
		t.Errorf("%d bytes, %.20q", len(got), got)
	}
}

func BenchmarkTextWriter(b *testing.B) {
	text := []byte(strings.Repeat("1,2,3,iperf3,/user.slice/session,cubic\n", 1000))
	w := NewTextWriter(new(discard), false)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

func TestCSVProtectsEveryCell(t *testing.T) {
	var b bytes.Buffer
	w := NewCSV(&b)
	if err := w.Row("name", "=1+1", "a,\"b\"\nc\x1b", "-2.5"); err != nil {
		t.Fatal(err)
	}
	const want = "name,'=1+1,\"a,\"\"b\"\"?c?\",-2.5\n"
	if err := w.Flush(); err != nil || b.String() != want {
		t.Errorf("%q, %v, want %q", b.String(), err, want)
	}
}
