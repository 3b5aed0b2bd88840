package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"airtide/internal/view/terminal"
)

func TestMisuseEndsWithStatus2AndNamesThePlace(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nonsense"}, "nonsense"},
		{[]string{"record", "-o", "x.atr", "--port", "70000"}, "70000"},
		{[]string{"record", "-o", "x.atr", "--host", "no-address"}, "no-address"},
		{[]string{"record", "-o", "x.atr", "--density", "often"}, "often"},
		{[]string{"record", "-o", "x.atr", "--port", ""}, "--port: it is empty"},
		{[]string{"monitor", "--once", "--cgroup="}, "--cgroup: it is empty"},
		{[]string{"monitor", "--once", "--host", "192.0.2.1,"}, "--host: it is empty"},
		{[]string{"record", "-o", "x.atr", "--source", "magic"}, "magic"},
		{[]string{"record", "-o", "x.atr", "--netns", "no-such-name"}, "no-such-name"},
		{[]string{"record", "-o", "x.atr", "--cgroup", "/no/such/cgroup"}, "/no/such/cgroup"},
		{[]string{"record", "-o", "x.atr", "--process", "a-name-that-is-too-long"}, "a-name-that-is-too-long"},
		{[]string{"record", "-o", "x.atr", "--filter", "tcp"}, "filter"},
		{[]string{"record", "-o", "x.atr", "curl"}, "--"},
		{[]string{"record", "-o", "x.atr", "--buffer-mb", "0"}, "buffer-mb"},
		{[]string{"record", "-o", "x.atr", "-d", "0"}, "--duration 0: want a time above 0"},
		{[]string{"monitor", "--once", "-i", "0 ms"}, "--interval 0: want a time above 0"},
		{[]string{"record", "-o", "x.atr", "--btf", "/no/such/file"}, "/no/such/file"},
		{[]string{"monitor", "--sort", "beauty"}, "beauty"},
		{[]string{"monitor", "--events"}, "--json"},
		{[]string{"diagnose", "x.atr", "--density=nonsense"}, "--density is for a live observation"},
		{[]string{"diagnose", "x.atr", "y.atr", "--plot", "z.png"}, "--plot draws one recording"},
		{[]string{"diagnose", "--live", "--plot", "z.png"}, "--plot draws a recording"},
		{[]string{"packets", "x.pcap", "--live", "--json"}, "exclude each other"},
		{[]string{"plot", "a.atr"}, "-o"},
		{[]string{"plot", "a.atr", "-o", "a.gif"}, "gif"},
		{[]string{"plot", "a.atr", "-o", "a.png", "--kind", "pie"}, "pie"},
		{[]string{"export", "a.atr", "-o", "x"}, "--to"},
		{[]string{"export", "a.atr", "-o", "x", "--to", "word"}, "word"},
		{[]string{"export", "a.atr", "-o", "x", "--to", "csv", "--fields", "beauty"}, "beauty"},
		{[]string{"packets", "a.pcap", "--top", "0"}, "--top 0"},
		{[]string{"packets", "a.pcap", "--open", "0"}, ": --open 0: want"},
		{[]string{"packets", "a.pcap", "--limit", "-1"}, ": --limit -1: want"},
		{[]string{"packets", "a.pcap", "-o", "a.png"}, "use airtide packets plot, export, join or annotate"},
		{[]string{"packets", "a.pcap", "--plot", "flight"}, "use airtide packets plot FILE -k KIND -o FIGURE"},
		{[]string{"packets", "a.pcap", "--to", "csv"}, "use airtide packets export FILE --to FORMAT"},
		{[]string{"packets", "a.pcap", "--join", "a.atr"}, "use airtide packets join FILE RECORDING"},
		{[]string{"packets", "show", "a.pcap", "--annotate", "a.atr"}, "use airtide packets annotate FILE"},
		{[]string{"packets", "anotate", "a.pcap"}, `unknown verb "anotate" (did you mean annotate?)`},
		{[]string{"packets", "a.pcap", "--json", "--top", "3"}, "--json and --top exclude each other"},
		{[]string{"packets", "a.pcap", "--plit", "x"}, "--plit"},
		{[]string{"export", "a.atr", "-o", "new/"}, "new/: no format for the files of the new folder"},
		{[]string{"export", "a.atr", "-o", "a.xlsx"}, "a.xlsx: the suffix .xlsx names no format; give one with --to"},
		{[]string{"export", "a.atr", "-o", "a.jsonl", "--table", "flows"}, "jsonl has no tables"},
		{[]string{"monitor", "a.atr", "--speed", "x"}, `--speed "x": want a number of at least 0`},
		{[]string{"lab", "nonsense"}, "nonsense"},
		{[]string{"lab", "run", "quickstart", "--lag-limit", "0s"}, "lag-limit"},
		{[]string{"lab", "run", "quickstart", "--at-once", "0"}, "at-once"},
		{[]string{"lab", "compare", "one"}, "two"},
		{[]string{"lab", "show", "testdata", "--json", "--csv"}, "json"},
	} {
		stdout, stderr, status := run(t, c.args...)
		if status != statusMisuse || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("airtide %s: status %d, %q, %q", strings.Join(c.args, " "), status, stdout, stderr)
		}
		if strings.Count(stderr, "\n") > 2 {
			t.Errorf("airtide %s says more than the error and a hint:\n%s", strings.Join(c.args, " "), stderr)
		}
	}
	if _, err := os.Stat("x.atr"); err == nil {
		t.Error("misuse left a file")
	}
}

func TestHelpOfEachVerbHasExamples(t *testing.T) {
	var look func(*cobra.Command)
	look = func(verb *cobra.Command) {
		for _, c := range verb.Commands() {
			if c.Hidden {
				continue
			}
			if !strings.Contains(c.Example, c.CommandPath()) {
				t.Errorf("%s --help has no example of it", c.CommandPath())
			}
			look(c)
		}
	}
	look(newRoot(&terminal.Terminal{}))
	if out := mustRun(t, "lab", "list", "--help"); !strings.Contains(out, "Examples:") {
		t.Errorf("examples are not printed: %s", out)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out := mustRun(t, "completion", shell); len(out) < 500 {
			t.Errorf("completion for %s: %q", shell, out)
		}
	}
	if out := mustRun(t, "__complete", "plot", "x.atr", "--kind", ""); !strings.Contains(out, "cwnd") {
		t.Errorf("--kind does not complete: %s", out)
	}
}

func TestDoctorAsJSON(t *testing.T) {
	var r struct {
		Usable bool
		Checks []struct{ Name, Status string }
	}
	if err := json.Unmarshal([]byte(mustRun(t, "doctor", "--json")), &r); err != nil || !r.Usable ||
		len(r.Checks) < 20 {
		t.Errorf("%v: %+v", err, r)
	}
}
