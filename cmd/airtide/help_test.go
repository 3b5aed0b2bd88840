package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	celllive "airtide/internal/cell/live"
	"airtide/internal/doctor"
	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/share/link"
	"airtide/internal/share/statusfeed"
	"airtide/internal/tcp"
	"airtide/internal/view/capture"
	"airtide/internal/view/screen"
	"airtide/internal/view/terminal"
)

// jsonOf maps each verb to its output with --json, or as JSON lines, with every field filled.
var jsonOf = map[string]func(*testing.T) string{
	"airtide doctor":      filled[*doctor.Report],
	"airtide info":        filled[infoJSON],
	"airtide diagnose":    filled[diagnoseJSON],
	"airtide monitor":     monitorLines,
	"airtide export":      exportedLines,
	"airtide cell check":  filled[[]checkedCell],
	"airtide cell run":    filled[cellReady],
	"airtide cell status": filled[celllive.Seen],
	"airtide cc list":     filled[ccList],
	"airtide lab list": filled[struct {
		Results []result.Entry `json:"results"`
	}],
	"airtide packets show":    filled[capture.Analysis],
	"airtide tune show":       filled[tuneList],
	"airtide share status":    filled[statusfeed.Report],
	"airtide timewarp status": filled[timewarp.Status],
	"airtide version":         filled[build],
}

// Examples can be copied from a terminal of 80 columns: none is broken. Flags behind -- would
// belong to the command.
func TestUsageAndExamplesCanBeCopied(t *testing.T) {
	examples := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			examples++
			if len(line) > 80 {
				t.Errorf("%s: an example of %d columns: %s", cmd.CommandPath(), len(line), line)
			}
		}
		if before, _, _ := strings.Cut(cmd.UseLine(), "[flags]"); strings.Contains(before, "-- ") {
			t.Errorf("%s: flags stand behind the command: %s", cmd.CommandPath(), cmd.UseLine())
		}
	}
	walk(newRoot(&terminal.Terminal{}))
	if examples < 100 {
		t.Errorf("%d examples", examples)
	}
}

func TestKeysOfExamplesAreInTheJSON(t *testing.T) {
	filters := 0
	script := regexp.MustCompile(`\| jq (?:-\w+ )*(?:'([^']*)'|(\S+))`)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.Contains(line, "jq ") {
				continue
			}
			print := jsonOf[cmd.CommandPath()]
			found := script.FindStringSubmatch(line)
			if print == nil || found == nil {
				t.Errorf("what %s prints is not known here, so %q is not checked", cmd.CommandPath(), line)
				continue
			}
			filters++
			names := jsonNames(t, print(t))
			for _, key := range jqKeys(found[1] + found[2]) {
				if !names[key] {
					t.Errorf("%s prints no %q, which its help shows: %s", cmd.CommandPath(), key,
						strings.TrimSpace(line))
				}
			}
		}
	}
	walk(newRoot(&terminal.Terminal{}))
	if filters < 10 {
		t.Errorf("%d examples with jq were found", filters)
	}
}

func TestKeysAreReadOutOfJqFilters(t *testing.T) {
	for filter, want := range map[string]string{
		".cwnd_packets":                                        "cwnd_packets",
		".flows[] | {flow, send_rate_bps}":                     "flows flow send_rate_bps",
		`.checks[] | select(.status != "ok")`:                  "checks status",
		"{held, peers: [.all[] | {address, rate: .rate_bps}]}": "held all address rate_bps",
	} {
		if got := strings.Join(jqKeys(filter), " "); got != want {
			t.Errorf("%s has the keys %q, want %q", filter, got, want)
		}
	}
}

// jqKeys returns the names that a filter reads from its input: names behind a dot, and names of
// objects without a value.
func jqKeys(filter string) (keys []string) {
	filter = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(filter, "")
	tokens := append(regexp.MustCompile(`\w+|[^\s\w]`).FindAllString(filter, -1), "")
	before := ""
	for i, token := range tokens[:len(tokens)-1] {
		name := regexp.MustCompile(`^[a-z]\w*$`).MatchString(token)
		next := tokens[i+1]
		if name && (before == "." || (before == "{" || before == ",") && (next == "," || next == "}")) {
			keys = append(keys, token)
		}
		before = token
	}
	return keys
}

// jsonNames are all names of objects in values of JSON.
func jsonNames(t *testing.T, text string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				names[name] = true
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		walk(v)
	}
}

// filled returns the JSON of a value without empty fields.
func filled[T any](t *testing.T) string {
	t.Helper()
	v := reflect.New(reflect.TypeFor[T]()).Elem()
	fill(v)
	text, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("some")
	case reflect.Bool:
		v.SetBool(true)
	}
}

func monitorLines(t *testing.T) string {
	t.Helper()
	r, err := trace.Open(kernelRecording)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	err = screen.JSONLines(t.Context(), screen.NewTable(screen.TableOptions{}), screen.Options{
		Source: func(ctx context.Context, sink tcp.Sink) error { return r.Scan(ctx, trace.ScanOptions{}, sink) },
		Once:   true, Events: true, Interval: time.Second, Output: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func exportedLines(t *testing.T) string {
	t.Helper()
	return mustRun(t, "export", kernelRecording, "--to", "jsonl", "-o", "-")
}

func TestReadmeCountsTheFieldsOfTheSocket(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	// The fields before are the segment's and the fields behind are computed. The private values of
	// a congestion control have a separate row.
	var fields int
	for f := tcp.CwndPackets; f < tcp.NumStored; f++ {
		if f.CongestionControlOf() == "" {
			fields++
		}
	}
	row := fmt.Sprintf("| fields of the socket | %d |", fields)
	if !strings.Contains(string(text), row) {
		t.Errorf("README.md has no row %q", row)
	}
}

// A copied line of the documentation finds the file that the line before has made.
func TestRecordingsAreCalledAlikeEverywhere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[page] = string(text)
	}
	for _, cmd := range newRoot(&terminal.Terminal{}).Commands() {
		texts[cmd.CommandPath()+" --help"] = cmd.Example
	}
	read := regexp.MustCompile(`airtide (?:info|plot|export|record -o) ([\w./-]+\.\w+)`)
	found := 0
	for place, text := range texts {
		for _, line := range read.FindAllStringSubmatch(text, -1) {
			found++
			if filepath.Ext(line[1]) != ".atr" {
				t.Errorf("%s: %q shows a recording that does not end in .atr", place, line[0])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d recordings were found", found)
	}
}

// A verb that needs root stands below that heading in help security, and another verb above it.
func TestHelpSecurityAgreesWithTheVerbs(t *testing.T) {
	without, with, found := strings.Cut(mustRun(t, "help", "security"), "With root")
	with, _, ended := strings.Cut(with, "Files:")
	if !found || !ended {
		t.Fatal("help security has no such headings")
	}
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		if len(path) == 0 || path[0] == "completion" || path[0] == "help" || path[0] == "lab" && len(path) > 2 {
			return
		}
		switch {
		case verb.HasSubCommands() && row.root == "", verb.Name() == "build":
			return // a group, or a verb that writes into the folder of the kernel
		case slices.Contains(row.flags, "--dry-run"):
			row.root = "without the flag"
		}
		text := without
		if row.root != "" {
			text = with
		}
		name := strings.Join(path, " ")
		if !regexp.MustCompile(`(?m)^  (.*, )?(`+name+`|`+path[0]+`)(,|  )`).MatchString(text) &&
			!regexp.MustCompile(`(?m)^  `+path[0]+` (.*, )?`+verb.Name()+`(,|  )`).MatchString(text) {
			t.Errorf("airtide %s: the topic does not agree with its row, which has %q", name, row.root)
		}
	})
}

func TestHelpServicesNamesThePort(t *testing.T) {
	if out := mustRun(t, "help", "services"); !strings.Contains(out, fmt.Sprintf("UDP %d ", link.Port)) {
		t.Errorf("the port is not %d in\n%s", link.Port, out)
	}
	for _, unit := range []string{"airtide-share.service", "airtide-share-hub.service"} {
		name := strings.TrimSuffix(unit, ".service")
		if unitOfSystemd(t, unit) == "" || !strings.Contains(mustRun(t, "help", "services"), "  "+name+" ") {
			t.Errorf("the topic does not name %s", name)
		}
	}
}

// The help of share status explains each column of its table.
func TestHelpOfShareStatusNamesTheColumns(t *testing.T) {
	var table strings.Builder
	if err := (&statusfeed.Report{}).Table(&table, 0, false); err != nil {
		t.Fatal(err)
	}
	help := mustRun(t, "share", "status", "--help")
	title, _, _ := strings.Cut(table.String()[strings.Index(table.String(), "terminal  "):], "\n")
	names := regexp.MustCompile(" {2,}").Split(strings.TrimSpace(title), -1)
	for _, name := range names[1:] {
		if !regexp.MustCompile(`(?m)^  (.*, )?` + name + `(,|$|  )`).MatchString(help) {
			t.Errorf("the column %q is not explained", name)
		}
	}
	if len(names) < 10 {
		t.Errorf("the columns are %q", names)
	}
}
