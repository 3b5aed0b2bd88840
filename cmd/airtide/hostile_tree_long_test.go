//go:build long

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
// whose values are known, also together with a value of another such flag.
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
		for k, v := range values {
			all = append(all, append(slices.Clone(always), v))
			for _, others := range valued[i+1:] {
				all = append(all, append(slices.Clone(always), v, others[k%len(others)]))
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
		hostileRadio(w)
		samplesOf(w, 3, 300, func(i int) int64 { return int64(i) * 1e7 })
	})
	add("names.atr", names)
	rng := rand.New(rand.NewPCG(1, 2))
	add("mutated.atr", mutated(rng, names))
	capture := hostileCaptures()["one segment again and again"]
	add("capture.pcap.gz", capture)
	add("mutated.pcap.gz", mutated(rng, capture))
	hostile := strings.Replace(judgedExperiment, "name: judged", `name: judged
title: "a\e[2J\n\u202eforged"
source: "\u009b31m"`, 1)
	add("experiment.yaml", []byte(hostile))
	add("mutated.yaml", mutated(rng, []byte(hostile)))
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
	large := len(paths)
	for name, data := range hostileCorpus(t) {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".large.atr")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	paths = append(paths, hostilePlans(t, dir)...)
	t.Run("verbs", func(t *testing.T) {
		for _, verb := range hostileVerbs(t) {
			for k, path := range paths {
				name := fmt.Sprintf("%s/%d %s", verb.path, k, filepath.Base(path))
				own := strings.HasSuffix(path, "names.atr") || strings.HasSuffix(path, "/capture.pcap.gz") ||
					!strings.HasPrefix(path, dir)
				for i, flags := range verb.flags {
					// Files of another kind are refused before the flags matter. The large files
					// share the flags.
					few := i < 2 || i < 4 && k >= large
					if !few && !own && (k < large || i%len(paths) != k) {
						continue
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
						var wait time.Duration
						if filepath.Base(path) == "fifo" {
							wait = fifoWait
						}
						runHostile(t, args, wait)
						checkWritten(t, out)
						removeOutputs(out)
					})
				}
			}
		}
	})
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("a planted link was followed: %q, %v", text, err)
	}
}

// fifoWait is the time behind which a verb that may wait for the writer of a FIFO is interrupted.
const fifoWait = 500 * time.Millisecond

// hostilePlans makes experiment files of 1 MB.
func hostilePlans(t *testing.T, dir string) (paths []string) {
	t.Helper()
	claims := []byte(judgedExperiment)
	for i := 0; len(claims) < hostileBytes; i++ {
		claims = fmt.Appendf(claims, "  c%d: {says: x, holds: mean(goodput) < 20}\n", i)
	}
	for name, plan := range map[string]string{
		"claims.large.yaml": string(claims[:bytes.LastIndexByte(claims[:hostileBytes], '\n')+1]),
		"list.large.yaml":   judgedExperiment + "vary: {x: [" + strings.Repeat("1,", 480_000) + "1]}\n",
		"depth.large.yaml":  judgedExperiment + "vary: " + strings.Repeat("[", 480_000) + "\n",
		"text.large.yaml":   judgedExperiment + "title: " + strings.Repeat("x", hostileBytes-1000) + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(plan[:min(len(plan), hostileBytes)]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// removeOutputs removes what a verb has written, to keep the folder small.
func removeOutputs(path string) {
	files, _ := filepath.Glob(path + "*")
	for _, file := range files {
		_ = os.RemoveAll(file)
	}
}

// TestMutatedFilesOfEveryVerb runs every verb on files with random faults, with a random choice of
// its flags, for 20 s. Recordings have valid checksums.
func TestMutatedFilesOfEveryVerb(t *testing.T) {
	const budget, least = 20 * time.Second, 5
	capture, err := os.ReadFile(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	recording := recordingOf(t, trace.Metadata{Host: "host", Source: "bpf"}, func(w *trace.Writer) {
		for id := range tcp.FlowID(3) {
			_ = w.Flow(hostileFlow(id + 1))
			_ = w.Event(&tcp.Event{Flow: id + 1, TimeNs: 5, Kind: tcp.EventCCChange, Text: "cubic"})
		}
		samplesOf(w, 3, 300, func(i int) int64 { return int64(i) * 1e7 })
	})
	seeds := 0
	for begun := time.Now(); seeds < least || time.Since(begun) < budget; seeds++ {
		rng := rand.New(rand.NewPCG(uint64(seeds), 3))
		t.Run(fmt.Sprint("seed ", seeds), func(t *testing.T) {
			dir := t.TempDir()
			files := []string{filepath.Join(dir, "a.atr"), filepath.Join(dir, "a.pcap"), filepath.Join(dir, "a.yaml")}
			for i, data := range [][]byte{
				sealed(mutated(rng, recording)), mutated(rng, capture), mutated(rng, []byte(judgedExperiment)),
			} {
				if err := os.WriteFile(files[i], data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files = append(files, mutatedResult(t, rng))
			for i, verb := range hostileVerbs(t) {
				own := 0
				switch group, _, _ := strings.Cut(verb.path, " "); group {
				case "packets":
					own = 1
				case "lab", "cell":
					own = 2 + rng.IntN(2)
				}
				for _, path := range []string{files[own], files[rng.IntN(len(files))]} {
					args := slices.Concat(strings.Fields(verb.path), slices.Repeat([]string{path}, verb.files))
					out := filepath.Join(dir, fmt.Sprintf("out%d", i))
					for _, flag := range verb.flags[rng.IntN(len(verb.flags))] {
						args = append(args, strings.Replace(flag, "OUT", out, 1))
					}
					t.Run(strings.Join(args, " "), func(t *testing.T) {
						t.Parallel()
						runHostile(t, args, 0)
						checkWritten(t, out)
					})
				}
			}
		})
	}
	t.Logf("%d seeds", seeds)
}

// mutated changes bits, and sometimes repeats or leaves out a part.
func mutated(rng *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + rng.IntN(20) {
		data[rng.IntN(len(data))] ^= byte(1 << rng.IntN(8))
	}
	from := rng.IntN(len(data))
	to := min(len(data), from+rng.IntN(200))
	switch rng.IntN(4) {
	case 0:
		data = slices.Insert(data, from, data[from:to]...)
	case 1:
		data = slices.Delete(data, from, to)
	}
	return data
}

// sealed gives the blocks of a recording valid checksums.
func sealed(data []byte) []byte {
	le := binary.LittleEndian
	table := crc32.MakeTable(crc32.Castagnoli)
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], []byte("\x89ATR"))
		at += next
		if next < 0 || at+64 > len(data) {
			return data
		}
		b := data[at:]
		if n := int(le.Uint32(b[16:])); n <= len(b)-64 {
			le.PutUint32(b[56:], crc32.Checksum(b[64:64+n], table))
		}
		le.PutUint32(b[60:], crc32.Checksum(b[:60], table))
	}
}

// mutatedResult makes a folder of results with faults in its files.
func mutatedResult(t *testing.T, rng *rand.Rand) string {
	t.Helper()
	dir := resultOf(t, [2]float64{18, 19})
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 && rng.IntN(3) > 0 {
			err = os.WriteFile(path, mutated(rng, data), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// fileFlag matches the usage of a flag whose value is a file or a folder.
var fileFlag = regexp.MustCompile(`\b(file|folder|mount point|figure to write|pcapng to write|recording in)\b`)

// TestHostileValuesOfFileFlags gives every flag of every verb that names a file malicious files. A
// verb may fail, with few words; one that goes on is interrupted.
func TestHostileValuesOfFileFlags(t *testing.T) {
	dir := t.TempDir()
	values := hostileFiles(t, dir)
	values = append(values, dir, filepath.Join(dir, "missing"), "/dev/full", "/proc/self/mem")
	precious := filepath.Join(dir, "precious")
	link := filepath.Join(dir, "link")
	err := errors.Join(os.WriteFile(precious, []byte("precious"), 0o600), os.Symlink(precious, link))
	if err != nil {
		t.Fatal(err)
	}
	values = append(values, link)
	files := faultFiles(t)
	flags := 0
	t.Run("flags", func(t *testing.T) {
		eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
			verb.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Value.Type() == "bool" || !fileFlag.MatchString(f.Usage) {
					return
				}
				flags++
				for _, value := range values {
					args := files(row.whole(path))
					at := len(args)
					if dash := slices.Index(args, "--"); dash >= 0 {
						at = dash
					}
					args = slices.Insert(args, at, "--"+f.Name+"="+value)
					if f.Name == "btf" && path[0] == "record" {
						args = append(args, "--source=bpf") // the only source with types
					}
					t.Run(f.Name+"/"+filepath.Base(value), func(t *testing.T) {
						if _, changes := changing[strings.Join(path, " ")]; !changes {
							t.Parallel()
						}
						runHostile(t, args, fifoWait)
					})
				}
			})
		})
	})
	if flags < 25 {
		t.Errorf("only %d flags name files", flags)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("a planted link was followed: %q, %v", text, err)
	}
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
