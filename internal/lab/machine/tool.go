package machine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tool is a program that experiments need.
type Tool struct {
	// Programs that are it, by the names that distributions give it.
	Programs []string
	// Package of Debian that has it.
	Package string
	// version is the argument that makes it print its version first.
	version string
}

// The tools.
var (
	Iperf3 = Tool{[]string{"iperf3"}, "iperf3", "--version"}
	Curl   = Tool{[]string{"curl"}, "curl", "--version"}
	Ping   = Tool{[]string{"ping"}, "iputils-ping", "-V"}
	Httpd  = Tool{[]string{"apache2", "httpd"}, "apache2-bin", "-v"}
	// Tcpdump captures packets. Its headers suffice to follow TCP with all its options.
	Tcpdump = Tool{[]string{"tcpdump"}, "tcpdump", "--version"}
	// qemu runs virtual machines (vm).
	qemu = Tool{
		[]string{"qemu-system-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]},
		"qemu-system", "--version",
	}
)

// Path finds the tool in PATH and where system programs are, which is not in everyone's PATH.
func (t Tool) Path() (string, error) {
	for _, p := range t.Programs {
		for _, name := range []string{
			p, filepath.Join("/usr/sbin", p), filepath.Join("/usr/local/sbin", p), filepath.Join("/sbin", p),
		} {
			if path, err := exec.LookPath(name); err == nil {
				return filepath.Abs(path)
			}
		}
	}
	return "", fmt.Errorf("%s is not installed: apt-get install %s", strings.Join(t.Programs, " or "), t.Package)
}

// versionTime is what a tool may take to print its version.
const versionTime = 10 * time.Second

// Version is the line in which the tool says it.
func (t Tool) Version(ctx context.Context) (string, error) {
	path, err := t.Path()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	c := exec.CommandContext(ctx, path, t.version)
	c.Env = environment()
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// Versions are those of the kernel and of the tools, by name; a tool that is not there has none.
// airtide's own version is the caller's to add.
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
