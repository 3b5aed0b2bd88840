package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/vm"
)

// guest is a virtual machine of the table.
type guest struct {
	version, architecture string
	required              bool // its failure is one of the whole
	minutes               int  // rough duration beside another guest
}

// guests are those of the table. The kernels of Android are made from 5.10, 6.1 and 6.12, of Debian
// 11, 12 and 13.
var guests = []guest{
	{"5.10", "amd64", true, 8},
	{"6.1", "amd64", true, 10},
	{"6.12", "amd64", true, 15},
	{vm.Newest, "amd64", false, 17},
	{"6.1", "arm64", true, 12},
	{"6.12", "arm64", true, 18},
}

func (g guest) name() string   { return g.version + "-" + g.architecture }
func (g guest) String() string { return g.name() }

// Where things are in a guest.
const (
	testsFolder = "/tests/"
	transfer    = "/transfer"
	busyboxPath = "/bin/busybox"
	moduleFile  = timewarp.Folder + "/%s/timewarp.ko" // path of the module for a release
)

// memoryMB is a guest's: its programs lie in it.
const memoryMB = 1500

// fetch gets a guest's parts from Debian: its kernel and the file of its busybox.
func (g guest) fetch(ctx context.Context) (kernel vm.Kernel, busybox string, err error) {
	kernel, err = vm.FetchFor(ctx, g.version, g.architecture)
	if err != nil {
		return kernel, "", err
	}
	folder, err := vm.FetchPackage(ctx, "6.1", g.architecture, "busybox-static")
	return kernel, filepath.Join(folder, "bin/busybox"), err
}

// boot boots a guest, with the module for accelerated time unless that is empty.
func (g guest) boot(ctx context.Context, folder string, p programs, module string, console io.Writer) (*vm.Guest,
	error,
) {
	k, busybox, err := g.fetch(ctx)
	if err != nil {
		return nil, err
	}
	c := vm.Config{
		Kernel: k, Program: p.airtide, MemoryMB: memoryMB, CPUs: 2, Accelerator: vm.TCG, Console: console,
		Files: map[string]string{
			busyboxPath: busybox,
			transfer:    filepath.Join(folder, "transfer"),
			"/cell":     filepath.Join(folder, "cell"),
			cellFile:    filepath.Join(folder, "cell.yaml"),
		},
	}
	for file, text := range map[string]string{"transfer": transferScript, "cell": cellScript, "cell.yaml": cellConfig} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	for name, file := range p.tests {
		c.Files[testsFolder+name] = file
	}
	if module != "" {
		c.Files[fmt.Sprintf(moduleFile, k.Release)] = module
	}
	for _, m := range modules {
		if k.HasModule(m) {
			c.Modules = append(c.Modules, m)
		}
	}
	return vm.Start(ctx, c)
}

// modules are those that a distribution would load when they are asked for.
var modules = []string{
	"veth", "tun", "tap", "macvlan", "macvtap", "dummy", "sch_ingress", "cls_bpf", "sch_fq", "sch_netem", "sch_tbf",
	"tcp_bbr", "inet_diag", "tcp_diag",
}

// crossMake are arguments of make for a kernel's module, by architecture.
var crossMake = map[string][]string{
	"amd64": {"CC=gcc"},
	"arm64": {"ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", "CC=aarch64-linux-gnu-gcc"},
}

// module builds the module for accelerated time.
func (g guest) module(ctx context.Context, folder, airtide string) (string, error) {
	output := filepath.Join(folder, "timewarp.ko")
	if g.version == vm.Newest {
		return g.moduleByItsDebian(ctx, output, airtide)
	}
	headers, err := vm.FetchHeadersFor(ctx, g.version, g.architecture)
	if err != nil {
		return "", err
	}
	return timewarp.Build(ctx, timewarp.BuildOptions{Headers: headers, Output: output, Make: crossMake[g.architecture]})
}

// builders are packages that a module is built with, besides the kernel's headers, which need the
// compiler.
var builders = []string{"make", "dash", "coreutils", "sed", "grep", "mawk", "findutils", "diffutils"}

// moduleByItsDebian builds the module with the compiler and C library of the kernel's own Debian.
func (g guest) moduleByItsDebian(ctx context.Context, output, airtide string) (string, error) {
	k, err := vm.FetchFor(ctx, g.version, g.architecture)
	if err != nil {
		return "", err
	}
	root, err := vm.FetchRoot(ctx, g.version, "build-"+k.Release, append(builders, "linux-headers-"+k.Release)...)
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(airtide)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(root, "airtide"), program, 0o755); err != nil {
		return "", err
	}
	// objtool looks into /proc.
	c := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--root="+root,
		"--mount-proc",
		"/airtide", "timewarp", "build", "--kernel-headers", "/usr/src/linux-headers-"+k.Release, "--output",
		"/timewarp.ko")
	c.Env = []string{"PATH=/usr/sbin:/usr/bin", "HOME=/"}
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(text))
	}
	module, err := os.ReadFile(filepath.Join(root, "timewarp.ko"))
	if err != nil {
		return "", err
	}
	return output, os.WriteFile(output, module, 0o644)
}

// shell runs a script in a guest and gives all that it printed, which the log has as it comes. It
// ends with its limit, of real time. Commands of a guest have a PID namespace of their own, so they
// get a /proc that shows its numbers.
func shell(ctx context.Context, g *vm.Guest, script string, env []string, limit time.Duration,
	log io.Writer,
) (said string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended after %s", limit))
	defer cancel()
	var b bytes.Buffer
	both := io.MultiWriter(&b, log)
	err = g.Run(ctx, vm.Command{
		Path: busyboxPath, Args: []string{
			"unshare", "-m", "sh", "-c",
			"mount -t proc proc /proc\n" + script,
		}, Env: append([]string{
			"PATH=/bin",
			"HOME=/root",
		}, env...), Dir: "/tmp", Stdout: both, Stderr: both,
	})
	return b.String(), err
}

var releaseNumbers = regexp.MustCompile(`^(\d+)\.(\d+)`)

// atLeast compares versions such as 6.12 and 6.4.
func atLeast(release, version string) bool {
	a := numbers(release)
	b := numbers(version)
	return a[0] > b[0] || a[0] == b[0] && a[1] >= b[1]
}

func numbers(version string) (n [2]int) {
	if m := releaseNumbers.FindStringSubmatch(version); m != nil {
		n[0], _ = strconv.Atoi(m[1])
		n[1], _ = strconv.Atoi(m[2])
	}
	return n
}

// processorSeconds returns the processors' time that a process has used so far.
func processorSeconds(pid int) float64 {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	stat, err := process.Stat()
	if err != nil {
		return 0
	}
	return stat.CPUTime()
}
