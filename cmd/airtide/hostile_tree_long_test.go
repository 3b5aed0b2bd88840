//go:build long

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
)

// changing are the verbs that change the machine before or while they read a file, each with the
// flags that make it only read; nil if there are none. All other verbs run on the hostile files, a
// new one too.
var changing = map[string][]string{
	"lab run": {"--dry-run"}, "lab resume": nil, "cell run": nil, "record": nil, "cc load": nil, "cc unload": nil,
	"share run": nil, "share hub": nil, "share key": nil, "tune": nil, "tune undo": nil, "timewarp build": nil,
	"timewarp load": nil, "timewarp run": nil, "timewarp set": nil, "timewarp unload": nil, "timewarp guard": nil,
	"help": nil, "completion": nil,
}

// hostileVerb is a verb that reads files, with arguments and flags behind which it does so.
type hostileVerb struct {
	path  string // such as "packets show"
	files int    // number of arguments
	flags [][]string
}

// hostileVerbs lists the verbs of the command tree that take a file.
func hostileVerbs(t *testing.T) (found []hostileVerb) {
	t.Helper()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			look(sub)
		}
		path := strings.TrimPrefix(c.CommandPath(), "airtide ")
		only, changes := changing[path]
		if !c.Runnable() || c.Hidden || c.HasSubCommands() || changes && only == nil {
			return
		}
		for files := 1; files <= 3; files++ {
			if c.Args != nil && c.Args(c, slices.Repeat([]string{"file"}, files)) != nil {
				continue
			}
			found = append(found, hostileVerb{path, files, variants(c, only)})
			return
		}
	}
	look(newRoot(&terminal.Terminal{}))
	if len(found) < 12 {
		t.Fatalf("only %d verbs read files: %v", len(found), found)
	}
	return found
}

// variants are the flags with which a verb runs: none, each switch, and each value of each flag
// whose values are known, also two such flags together.
func variants(c *cobra.Command, always []string) (all [][]string) {
	all = append(all, always)
	var valued [][]string
	for _, name := range []string{"to", "table", "kind", "format", "sort", "theme"} {
		complete, ok := c.GetFlagCompletionFunc(name)
		if !ok || c.Flags().Lookup(name) == nil {
			continue
		}
		values, _ := complete(c, nil, "")
		var one []string
		for _, v := range values[:min(len(values), 12)] {
			v, _, _ = strings.Cut(v, "\t")
			one = append(one, "--"+name+"="+v)
		}
		valued = append(valued, one)
	}
	for i, values := range valued {
		for _, v := range values {
			all = append(all, append(slices.Clone(always), v))
			for _, others := range valued[i+1:] {
				for _, w := range others[:min(len(others), 3)] {
					all = append(all, append(slices.Clone(always), v, w))
				}
			}
		}
	}
	for _, name := range []string{"json", "csv", "each", "grid", "once", "events", "drop-empty", "hide-idle"} {
		if c.Flags().Lookup(name) != nil {
			all = append(all, append(slices.Clone(always), "--"+name))
		}
	}
	for _, name := range []string{"flow", "connection"} {
		if c.Flags().Lookup(name) != nil {
			all = append(all, append(slices.Clone(always), "--"+name+"=1"))
		}
	}
	if c.Flags().Lookup("output") != nil {
		for i, flags := range all {
			all[i] = append(flags, "--output=OUT")
			all = append(all, append(slices.Clone(flags), "--output=-"))
		}
	}
	return all
}

// hostileFiles makes small malicious files of all kinds in a folder.
func hostileFiles(t *testing.T, dir string) (paths []string) {
	t.Helper()
	add := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		return path
	}
	names := recordingOf(t, trace.Metadata{
		Host: control, Kernel: control, Arch: control + "\nforged", Source: control, SourceDetail: control,
		Density: control, Label: control, Command: []string{control}, Tool: control,
	}, func(w *trace.Writer) {
		for id := range tcp.FlowID(3) {
			_ = w.Flow(hostileFlow(id + 1))
			_ = w.Event(&tcp.Event{Flow: id + 1, TimeNs: 5, Kind: tcp.EventCCChange, Text: control})
		}
		samplesOf(w, 3, 300, func(i int) int64 { return int64(i) * 1e7 })
	})
	add("names.atr", names)
	rng := rand.New(rand.NewPCG(1, 2))
	mutated := func(data []byte) []byte {
		data = bytes.Clone(data)
		for range 20 {
			data[rng.IntN(len(data))] ^= byte(1 << rng.IntN(8))
		}
		return data
	}
	add("mutated.atr", mutated(names))
	capture := hostileCaptures()["one segment again and again"]
	add("capture.pcap.gz", capture)
	add("mutated.pcap.gz", mutated(capture))
	hostile := strings.Replace(judgedExperiment, "name: judged", `name: judged
title: "a\e[2J\n\u202eforged"
source: "\u009b31m"`, 1)
	add("experiment.yaml", []byte(hostile))
	add("mutated.yaml", mutated([]byte(hostile)))
	add("key", []byte(control))
	add("empty", nil)
	sparse := add("sparse.atr", names)
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	zeros := filepath.Join(dir, "zeros")
	fifo := filepath.Join(dir, "fifo")
	if err := os.Symlink("/dev/zero", zeros); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return append(paths, zeros, fifo, hostileResult(t, hostile, "names"), hostileResult(t, hostile, "zeros"),
		hostileResult(t, hostile, "fifo"))
}

// hostileResult makes a folder of results whose runs have texts of control characters, or are a
// device or a FIFO.
func hostileResult(t *testing.T, experiment, kind string) string {
	t.Helper()
	dir := resultOf(t, [2]float64{18, 19})
	results, err := filepath.Glob(filepath.Join(dir, "runs", "*", "result.json"))
	if err != nil || len(results) == 0 {
		t.Fatalf("%v, %v", results, err)
	}
	for _, path := range append(results, filepath.Join(dir, "lock")) {
		text, _ := os.ReadFile(path)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		switch kind {
		case "names":
			text = bytes.ReplaceAll(text, []byte(`"upload"`), []byte(`"up\u001b[2J\u009b\u202e\nforged"`))
			err = os.WriteFile(path, text, 0o600)
		case "zeros":
			err = os.Symlink("/dev/zero", path)
		case "fifo":
			err = syscall.Mkfifo(path, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestHostileFilesOfEveryVerb runs every verb of the command tree that takes a file, with its
// flags, on malicious files of every kind. A verb may fail, with few words.
func TestHostileFilesOfEveryVerb(t *testing.T) {
	dir := t.TempDir()
	paths := hostileFiles(t, dir)
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	outputs := 0
	t.Run("verbs", func(t *testing.T) {
		for _, verb := range hostileVerbs(t) {
			for k, path := range paths {
				name := fmt.Sprintf("%s/%d %s", verb.path, k, filepath.Base(path))
				own := strings.HasSuffix(path, "names.atr") || strings.HasSuffix(path, "/capture.pcap.gz") ||
					!strings.HasPrefix(path, dir)
				for i, flags := range verb.flags {
					if i > 3 && !own {
						break // files of another kind are refused before the flags matter
					}
					args := slices.Concat(strings.Fields(verb.path), slices.Repeat([]string{path}, verb.files))
					outputs++
					out := filepath.Join(dir, fmt.Sprintf("out%d-", outputs))
					for _, flag := range flags {
						args = append(args, strings.Replace(flag, "OUT", out, 1))
					}
					if slices.ContainsFunc(flags, func(f string) bool { return strings.HasSuffix(f, "OUT") }) {
						if err := os.Symlink(precious, out); err != nil {
							t.Fatal(err)
						}
						args = append(args, "--force")
					}
					t.Run(name+"/"+strings.Join(flags, " "), func(t *testing.T) {
						t.Parallel()
						if filepath.Base(path) == "fifo" {
							interruptWaiting(t, args)
						} else {
							runHostile(t, args)
						}
						checkWritten(t, out)
					})
				}
			}
		}
	})
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("a planted link was followed: %q, %v", text, err)
	}
}

// interruptWaiting interrupts a verb that waits for the writer of a FIFO. One signal ends it.
func interruptWaiting(t *testing.T, args []string) {
	cmd := airtide(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	guard := time.AfterFunc(hostileTime, func() { _ = cmd.Process.Kill() })
	select {
	case <-ended:
		guard.Stop()
		return
	case <-time.After(500 * time.Millisecond): // it has begun, or waits
	}
	begin := time.Now()
	_ = cmd.Process.Signal(os.Interrupt)
	<-ended
	if !guard.Stop() {
		t.Fatalf("an interrupt does not end it within %s", hostileTime)
	}
	t.Logf("%s after the interrupt it ends with %s", time.Since(begin), cmd.ProcessState)
}

// checkWritten checks the texts of an output, if there is one.
func checkWritten(t *testing.T, path string) {
	files, _ := filepath.Glob(path + "*")
	for _, file := range files {
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(file), info.Mode())
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(data, 0) >= 0 || isBinary(nil, data) {
			continue // it is no text
		}
		var checked checkedOutput
		_, _ = checked.Write(data)
		if checked.control != "" {
			t.Errorf("%s has a control character: %s", filepath.Base(file), checked.control)
		}
	}
}
