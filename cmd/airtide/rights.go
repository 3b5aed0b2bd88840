package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf/rlimit"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"airtide/internal/observe/source"
	"airtide/internal/share"
	"airtide/internal/sys/privilege"
	"airtide/internal/view/terminal"
)

// A verb that observes or shares gives up its other rights once it is attached. A verb that only
// reads files gives them up before it opens the first. docs/design/rights.md has the reasons.

// observing are the rights of a source of samples that runs: it looks for the owners of sockets in
// /proc, and drains its rings at a high priority.
func observing(s *source.Opened, allNamespaces bool) privilege.Needs {
	n := privilege.Needs{
		Capabilities: []int{unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_NICE, unix.CAP_NET_ADMIN},
		Caller:       true,
	}
	if s.Kind == source.BPF {
		n.Capabilities = append(n.Capabilities, unix.CAP_BPF, unix.CAP_PERFMON)
		n.Calls = []privilege.Call{privilege.UseBPF}
		return n
	}
	n.Calls = []privilege.Call{privilege.OpenSockets}
	if allNamespaces { // new ones are entered while it polls
		n.Capabilities = append(n.Capabilities, unix.CAP_SYS_ADMIN)
		n.Calls = append(n.Calls, privilege.EnterNamespaces)
	}
	return n
}

// commandRights are those that signal a command and remove its cgroup: the folder of the first
// cgroup is writable for nobody.
var commandRights = []int{unix.CAP_KILL, unix.CAP_DAC_OVERRIDE}

// recordingRights are those of record when its command runs. The command keeps all rights, so
// record stays root to end it.
func recordingRights(s *source.Opened, allNamespaces, command bool) privilege.Needs {
	n := observing(s, allNamespaces)
	if command {
		n.Caller = false
		n.Capabilities = append(n.Capabilities, commandRights...)
	}
	return n
}

// screenRights are those of monitor on the full screen, where a key makes recordings in the folder
// of the caller.
func screenRights(s *source.Opened, allNamespaces bool) privilege.Needs {
	n := observing(s, allNamespaces)
	n.Capabilities = append(n.Capabilities, unix.CAP_DAC_OVERRIDE)
	return n
}

// sharingRights are those of an agent. It attaches anew when the addresses of the terminal change,
// and looks for loaded congestion controls, which takes CAP_SYS_ADMIN.
func sharingRights(f *share.Flags) privilege.Needs {
	_ = rlimit.RemoveMemlock() // before Linux 5.11 it takes CAP_SYS_RESOURCE
	n := privilege.Needs{
		Capabilities: []int{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN},
		Calls:        []privilege.Call{privilege.UseBPF, privilege.OpenSockets, privilege.EnterNamespaces},
	}
	if f.PHYFile != "" || ofAnotherUser(f.Key) { // files that are read again
		n.Capabilities = append(n.Capabilities, unix.CAP_DAC_READ_SEARCH)
	}
	return n
}

// ofAnotherUser reports whether a file belongs to another user than this process's.
func ofAnotherUser(path string) bool {
	var s unix.Stat_t
	return unix.Stat(path, &s) == nil && int(s.Uid) != os.Geteuid()
}

// tuningRights are those of a tune in force, which restores everything at its end: sockets of
// other processes and namespaces, routes and sysctls.
func tuningRights(command bool) privilege.Needs {
	n := privilege.Needs{
		Capabilities: []int{
			unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE,
			unix.CAP_DAC_READ_SEARCH,
		},
		Calls: []privilege.Call{
			privilege.UseBPF, privilege.OpenSockets, privilege.EnterNamespaces, privilege.BorrowDescriptors,
		},
	}
	if command {
		n.Capabilities = append(n.Capabilities, commandRights...)
	}
	return n
}

// hubRights are those of a hub, which holds one open socket: the system calls of Go's runtime, and
// those that receive, send and print.
func hubRights() privilege.Needs { return privilege.Needs{Caller: true, Relay: true} }

// readerRights are those of a verb that only reads and writes files. Files of other users stay
// open to root, as before.
var readerRights = privilege.Needs{Capabilities: []int{
	unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_CHOWN,
}}

// fileVerb tells which files a verb reads and writes. All arguments of the verb are read.
type fileVerb struct {
	read  []string // flags with further inputs
	write []string // flags with outputs
	// when names a flag without which the verb does not only read. "" means that it always does.
	when string
	// terminal verbs draw on the full screen.
	terminal bool
	// file verbs only read if they have arguments, and no command behind "--".
	file bool
}

// fileVerbs are the verbs that only read files.
var fileVerbs = map[string]fileVerb{
	"cell check":       {},
	"diagnose":         {file: true, write: []string{"plot"}},
	"export":           {write: []string{"output"}},
	"fairness":         {read: []string{"result", "results"}},
	"info":             {},
	"lab check":        {},
	"lab compare":      {read: []string{"results"}},
	"lab list":         {read: []string{"results"}},
	"lab run":          {when: "dry-run"},
	"lab show":         {read: []string{"results"}, write: []string{"figures"}},
	"monitor":          {terminal: true, file: true},
	"packets":          {},
	"packets annotate": {write: []string{"output"}},
	"packets export":   {write: []string{"output"}},
	"packets join":     {write: []string{"output"}},
	"packets plot":     {write: []string{"output"}},
	"packets show":     {},
	"plot":             {write: []string{"output"}},
	"version":          {},
}

// terminfo are the folders with descriptions of terminals.
var terminfo = []string{"/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo"}

// confineReaders makes the verbs that only read files give up everything else first.
func confineReaders(t *terminal.Terminal, root *cobra.Command) {
	for _, c := range root.Commands() {
		confineReaders(t, c)
	}
	v, ok := fileVerbs[verbPath(root)]
	if !ok || root.RunE == nil {
		return
	}
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if v.file && (len(args) == 0 || cmd.ArgsLenAtDash() >= 0) || v.when != "" && !cmd.Flags().Changed(v.when) {
			return run(cmd, args)
		}
		if err := v.keepInputs(cmd, args); err != nil {
			return err
		}
		if err := privilege.Confine(v.paths(cmd, args)); err != nil {
			return err
		}
		if err := privilege.Drop(readerRights); err != nil {
			return err
		}
		if !v.terminal {
			defer endAfterSignal(cmd.Context(), t)()
		}
		return run(cmd, args)
	}
}

// interruptGrace is the time that a verb has after a signal. Together with the message and the exit
// it stays below a second.
const interruptGrace = 700 * time.Millisecond

// messageGrace is the time for the message.
const messageGrace = 100 * time.Millisecond

// endAfterSignal ends the process interruptGrace after a signal if the verb is busy until then, and
// returns a function that calls this off. A verb that only reads files has nothing to undo, and its
// outputs have no name until they are whole. A large file makes some of its loops long.
func endAfterSignal(ctx context.Context, t *terminal.Terminal) (callOff func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(interruptGrace):
			if i, ok := errors.AsType[interruption](context.Cause(ctx)); ok {
				said := make(chan struct{})
				go func() {
					t.Warnf("%v", i)
					close(said)
				}()
				select {
				case <-said:
				case <-time.After(messageGrace): // nobody reads the messages
				}
				os.Exit(128 + int(i.signal))
			}
		}
	})
	return func() {
		stop()
		close(done)
	}
}

// keepInputs refuses an output that is an input of the same call: --force would destroy the only
// recording or capture.
func (v *fileVerb) keepInputs(cmd *cobra.Command, args []string) error {
	for _, name := range v.write {
		output := flagValue(cmd, name)
		for _, input := range args {
			if sameFile(input, output) {
				return usageError{fmt.Errorf("%s is read and cannot be written at the same time", output)}
			}
		}
	}
	return nil
}

// sameFile reports whether two paths name one regular file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil || !x.Mode().IsRegular() {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// paths are the files that a call of a verb names.
func (v *fileVerb) paths(cmd *cobra.Command, args []string) (p privilege.Paths) {
	p.Read = slices.Clone(args)
	for _, name := range v.read {
		p.Read = append(p.Read, flagValue(cmd, name))
	}
	for _, name := range v.write {
		if path := flagValue(cmd, name); path != "" && path != "-" {
			p.Write = append(p.Write, path)
		}
	}
	figure := flagValue(cmd, "format") + flagValue(cmd, "output") + flagValue(cmd, "plot")
	if strings.Contains(strings.ToLower(figure), "pdf") {
		p.Write = append(p.Write, os.TempDir()) // the fonts of a PDF are made there
	}
	if slices.Contains(args, "-") {
		p.Write = append(p.Write, os.TempDir()) // a recording from standard input is kept there
	}
	if v.terminal {
		p.Read = append(p.Read, terminfo...)
		p.Terminals = []string{"/dev/tty"}
	}
	return p
}

func flagValue(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// verbPath is the name of a verb below airtide: "lab show".
func verbPath(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	if parent := verbPath(cmd.Parent()); parent != "" {
		return parent + " " + cmd.Name()
	}
	return cmd.Name()
}
