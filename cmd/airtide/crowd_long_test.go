//go:build kernel && long

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"airtide/test/need"
	"airtide/test/testnet"
)

// A recording of 20,000 connections that send each second, beside 5000 new ones a second, loses at
// most one record in a thousand and says so.
func TestRecordACrowd(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.atr")
	cmd := exec.Command("ip", append([]string{
		"netns", "exec", n.Client.Name, "env", self + "=airtide", exe, "record", "-q", "-o", path, "--",
		"sh", "-c", fmt.Sprintf(`for i in $(seq %d); do "$@" & done; wait`, crowdProcesses), "sh",
	}, played("crowd")...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.Bytes())
	}
	fresh := 0
	of := strings.Fields(string(out))
	for _, opened := range of {
		n, err := strconv.Atoi(opened)
		if err != nil {
			t.Fatalf("%v: %s%s", err, out, stderr.Bytes())
		}
		fresh += n
	}
	if len(of) != crowdProcesses {
		t.Fatalf("%s%s", out, stderr.Bytes())
	}
	r := info(t, path)
	lost := r.Totals.Loss
	t.Logf("%d new connections, %d flows, %d samples, lost %+v", fresh, r.Totals.Flows, r.Totals.Samples, lost)
	if want := 2 * (crowdProcesses*crowdLasting + fresh); r.Totals.Flows != want && lost.Records == 0 {
		t.Errorf("%d flows, want %d", r.Totals.Flows, want)
	}
	if 1000*lost.Records > r.Totals.Samples || lost.Untracked > 0 {
		t.Errorf("lost are %+v, with %d samples", lost, r.Totals.Samples)
	}
	if fresh < crowdProcesses*crowdPerSecond {
		t.Errorf("the crowd opened %d connections in %s, too few to test anything", fresh, crowdFor)
	}
}
