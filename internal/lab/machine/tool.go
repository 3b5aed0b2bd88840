package machine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/tool"
)

// Tool is a program that experiments need.
type Tool struct {
	// Programs are the names of the program in different distributions.
	Programs []string
	// Package is Debian's package with the program.
	Package string
	// version is the argument that makes the program print its version first.
	version string
}

// The tools.
var (
	Iperf3 = Tool{[]string{"iperf3"}, "iperf3", "--version"}
	Curl   = Tool{[]string{"curl"}, "curl", "--version"}
	Ping   = Tool{[]string{"ping"}, "iputils-ping", "-V"}
	Httpd  = Tool{[]string{"apache2", "httpd"}, "apache2-bin", "-v"}
	// Tcpdump captures packets. Their headers are sufficient to follow TCP with all its options.
	Tcpdump = Tool{[]string{"tcpdump"}, "tcpdump", "--version"}
	// qemu runs virtual machines (package vm).
	qemu = Tool{
		[]string{"qemu-system-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]},
		"qemu-system", "--version",
	}
)

// Path returns the absolute path of the tool.
func (t Tool) Path() (string, error) {
	for _, name := range t.Programs {
		if path, err := tool.Find(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: apt-get install %s", strings.Join(t.Programs, " or "), t.Package)
}

// versionTime limits the time for printing a tool's version.
const versionTime = 10 * time.Second

// Version returns the line with the version from the tool's output.
func (t Tool) Version(ctx context.Context) (string, error) {
	path, err := t.Path()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	c := exec.CommandContext(ctx, path, t.version)
	c.Env = tool.Environment()
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// Versions returns the versions of the kernel and of the installed tools, by name. The caller adds
// airtide's own version.
func Versions(ctx context.Context) (map[string]string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("asking the kernel for its version: %w", err)
	}
	versions := map[string]string{
		"kernel": unix.ByteSliceToString(
			u.Release[:],
		) + " " + unix.ByteSliceToString(u.Version[:]) + " " + unix.ByteSliceToString(u.Machine[:]),
	}
	for name, t := range map[string]Tool{
		"iperf3": Iperf3, "curl": Curl, "ping": Ping, "httpd": Httpd, "tcpdump": Tcpdump, "qemu": qemu,
	} {
		if _, err := t.Path(); err != nil {
			continue
		}
		v, err := t.Version(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
		versions[name] = v
	}
	return versions, ctx.Err()
}
