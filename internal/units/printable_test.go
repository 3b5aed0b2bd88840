package units

import "testing"

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
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+1": "'+1", "-1+2": "'-1+2",
		"-cmd|' /C calc'!A0": "'-cmd|' /C calc'!A0",
	} {
		if got := Cell(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
