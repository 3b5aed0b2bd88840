package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestComplaintsOfTheKernel(t *testing.T) {
	got := complaintsIn(`5,0,0,-;Linux version 6.1.0
4,300,2000000,-;WARNING: CPU: 0 PID: 1 at kernel/time/timekeeping.c:1
4,301,2000001,-;Call Trace:
3,302,9000000,-;rcu: INFO: rcu_preempt self-detected stall on CPU
 SUBSYSTEM=cpu
6,303,10000000,-;timewarp: loading out-of-tree module taints kernel.
0,560,1299221240,-;watchdog: Watchdog detected hard LOCKUP on cpu 1
6,562,1299224793,-;Sending NMI from CPU 0 to CPUs 1:
4,563,1299251122,-;NMI backtrace for cpu 1
4,564,1299251123,-;Call trace:
1,565,1299251124,-;Unable to handle kernel paging request at virtual address ffff800080000000
`)
	want := []string{
		"WARNING: CPU: 0 PID: 1 at kernel/time/timekeeping.c:1", "Call Trace:", "rcu: INFO: rcu_preempt " +
			"self-detected stall on CPU",
		"watchdog: Watchdog detected hard LOCKUP on cpu 1", "NMI backtrace for cpu 1", "Call trace:",
		"Unable to handle kernel paging request at virtual address ffff800080000000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// doctor is held against what was seen, both ways.
func TestDoctorIsHeldAgainstWhatWasSeen(t *testing.T) {
	var d report
	add := func(verb, verdict, way string) {
		d.Verbs = append(d.Verbs, reportedVerb{verb, verdict, way})
	}
	add("monitor", "degraded", "bpf")
	add("cc", "cannot_run", "")
	add("tune", "ready", "bpf")
	add("timewarp", "cannot_run", "")
	d.Checks = append(d.Checks, reportedCheck{"inet_diag", "missing"}, reportedCheck{"struct_ops_link", "ok"})
	r := result{cells: map[string]cell{
		"monitor by BPF: what it tells": {text: okText},
		"congestion controls":           {text: "from 6.4"},
		"tune":                          {text: "from 5.16"},
		"monitor by inet_diag":          {text: okText + ", in part"},
		"cell":                          {text: okText},
		"timewarp `--scaled-cubic`":     {text: "**FAILED**", failed: true}, // needs the check and the verb
	}}
	got := r.disagreements(d)
	want := []string{
		"it says that monitor by inet_diag does not work, and it does",
		"it says that tune works, and it does not",
		"it says nothing of cell",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of many lines those remain that say something.
func TestANoteIsOneLine(t *testing.T) {
	r := result{guest: guest{version: "6.1", architecture: "amd64", required: true}}
	r.note("cell", "it fails")
	r.note("cell", "the last output of make:\n  CC module.o\n  objtool: version GLIBC_2.38 not found\nmake: *** [all] "+
		"Error 2")
	r.note("cell", "a script\nof two lines")
	want := []string{
		"6.1-amd64, cell: it fails",
		"6.1-amd64, cell: the last output of make: objtool: version GLIBC_2.38 not found",
		"6.1-amd64, cell: a script ...",
	}
	if !slices.Equal(r.notes, want) {
		t.Errorf("got %q, want %q", r.notes, want)
	}
}

func TestTheTableIsWrittenIntoItsPage(t *testing.T) {
	results := []*result{
		{
			guest: guest{version: "6.1", architecture: "amd64", required: true}, release: "6.1.0-1",
			cells: map[string]cell{"cell": {text: okText}}, notes: []string{"6.1-amd64, cell: a note"},
		},
		{guest: guest{version: "newest", architecture: "amd64"}, err: errors.New("it does not boot")},
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	results[0].seconds = 90
	began := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if err := writeTable(page, table(results)+tookText(began, began.Add(10*time.Minute+30*time.Second),
		results)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + tableBegin, "| kernel | 6.1.0-1 | not tried |", "| cell | ok | not tried |", "\n\n- 6.1-amd64, " +
			"cell: a note\n",
		"- newest-amd64, as a whole: it does not boot\n", "\n\n2026-01-31: one run of 10.5 minutes from end to end " +
			"on ", " processors, with 1.5 minutes of", tableEnd + "after\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") || strings.Contains(string(got), "share") {
		t.Errorf("there is too much in\n%s", got)
	}
	if err := verdict(results); err != nil {
		t.Errorf("a kernel that may fail counts: %v", err)
	}
	results[0].cells["cell"] = cell{text: failedText, failed: true}
	if err := verdict(results); err == nil {
		t.Error("a kernel that must not fail does not count")
	}
	if err := writeTable(filepath.Join(t.TempDir(), "none.md"), ""); err == nil {
		t.Error("a page that is not there is no error")
	}
}
