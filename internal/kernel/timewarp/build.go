package timewarp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"airtide/internal/sys/file"
	"airtide/internal/sys/tool"
)

// BuildOptions say how the module is built.
type BuildOptions struct {
	Headers string    // the kernel's headers, "" for those of the running kernel
	Output  string    // the file to write, "" for timewarp.ko in the kernel's folder below Folder
	Make    []string  // further arguments of make, such as CC=gcc-12 or ARCH=arm64
	Log     io.Writer // gets the output of make; may be nil
}

// Build builds the module from the sources in the binary. It needs make, a compiler and the
// kernel's headers.
func Build(ctx context.Context, o BuildOptions) (path string, err error) {
	headers, err := checkHeaders(o.Headers)
	if err != nil {
		return "", err
	}
	if _, err := tool.Find("make"); err != nil {
		return "", errors.New("building a module takes make and a compiler (Debian: apt install make gcc)")
	}
	dir, err := os.MkdirTemp("", "airtide-timewarp-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the sources: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, sources()); err != nil {
		return "", fmt.Errorf("writing the sources: %w", err)
	}
	if err := runMake(ctx, dir, headers, o); err != nil {
		return "", err
	}
	built := filepath.Join(dir, "timewarp.ko")
	release, err := ModuleRelease(built)
	if err != nil {
		return "", err
	}
	if err := checkSources(built); err != nil {
		return "", fmt.Errorf("the module that was built does not name its sources (is there no sha256sum?): %w", err)
	}
	path = o.Output
	if path == "" {
		path = filepath.Join(Folder, release, "timewarp.ko")
	}
	return path, install(built, path)
}

// checkHeaders finds the kernel headers and returns an error that is clearer than that of make.
func checkHeaders(headers string) (string, error) {
	if headers == "" {
		headers = filepath.Join("/lib/modules", Release(), "build")
		if _, err := os.Stat(headers); err != nil {
			return "", fmt.Errorf(
				"there are no headers of this kernel at %s: install them (Debian: apt install "+
					"linux-headers-%s), or name others with --kernel-headers",
				headers, Release(),
			)
		}
	}
	headers, err := filepath.Abs(headers)
	if err != nil {
		return "", fmt.Errorf("finding the headers: %w", err)
	}
	config, err := os.Open(filepath.Join(headers, "include/config/auto.conf"))
	if err != nil {
		return "", fmt.Errorf("%s are no headers of a configured kernel: %w", headers, err)
	}
	defer config.Close()
	set := map[string]bool{}
	lines := bufio.NewScanner(config)
	for lines.Scan() {
		if name, yes := strings.CutSuffix(lines.Text(), "=y"); yes {
			set[name] = true
		}
	}
	for _, option := range []string{"CONFIG_MODULES", "CONFIG_KPROBES", "CONFIG_KRETPROBES"} {
		if !set[option] {
			return "", fmt.Errorf("the kernel of %s was built without %s, which the module needs", headers, option)
		}
	}
	return headers, lines.Err()
}

// lastLines is the number of output lines of make that an error repeats.
const lastLines = 15

func runMake(ctx context.Context, dir, headers string, o BuildOptions) error {
	var printed bytes.Buffer
	c := tool.Command(ctx, "make", append([]string{"-C", dir, "KERNEL=" + headers}, o.Make...)...)
	c.Stdout = &printed
	c.Stderr = &printed
	if o.Log != nil {
		both := io.MultiWriter(&printed, o.Log)
		c.Stdout = both
		c.Stderr = both
	}
	err := c.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	return fmt.Errorf("building the module: %w; the last output of make:\n%s", err,
		strings.Join(lines[max(0, len(lines)-lastLines):], "\n"))
}

// install puts the built module in its place, as a whole or not at all.
func install(built, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the module's folder: %w", err)
	}
	module, err := os.ReadFile(built)
	if err != nil {
		return fmt.Errorf("reading the built module: %w", err)
	}
	if err := file.Write(path, module, 0o644); err != nil {
		return fmt.Errorf("writing the module: %w", err)
	}
	return nil
}
