package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"airtide/internal/sys/lock"
	"airtide/internal/sys/tool"
)

// Fetch returns a kernel from the cache, or fetches it from Debian's archive; apt checks the
// signatures. It needs apt and dpkg, and installs nothing.
func Fetch(ctx context.Context, version string) (Kernel, error) {
	return FetchFor(ctx, version, runtime.GOARCH)
}

// FetchFor is Fetch for an architecture in Go's spelling.
func FetchFor(ctx context.Context, version, architecture string) (Kernel, error) {
	k, err := CachedFor(version, architecture)
	if !errors.Is(err, ErrNoKernel) {
		return k, err
	}
	suite, err := suiteOf(version)
	if err != nil {
		return k, err
	}
	meta := "linux-image-cloud-" + architecture
	err = fetch(ctx, suite, architecture, "x", func(a *apt) ([]string, error) {
		text, err := a.run(ctx, "apt-cache", "depends", meta)
		if err != nil {
			return nil, err
		}
		image := regexp.MustCompile(`Depends: (linux-image-\S+)`).FindStringSubmatch(text)
		if image == nil {
			return nil, fmt.Errorf("%s of %s names no kernel", meta, suite)
		}
		packages := image[1:]
		text, err = a.run(ctx, "apt-cache", "depends", image[1])
		if err != nil {
			return nil, err
		}
		for _, part := range partOfKernel.FindAllStringSubmatch(text, -1) {
			packages = append(packages, part[1])
		}
		return packages, nil
	}, nil)
	if err != nil {
		return k, fmt.Errorf("fetching Debian's kernel %s for %s: %w", version, architecture, err)
	}
	return CachedFor(version, architecture)
}

// partOfKernel matches the packages that a kernel package depends on since Debian 14 divides it.
var partOfKernel = regexp.MustCompile(`Depends: (linux-(?:base|binary|modules)-[0-9]\S+)`)

// apt runs apt with its own folder for all of its files.
type apt struct {
	dir     string
	options []string
}

// fetch unpacks the packages returned by choose into a folder below the suite's folder. The folder
// appears complete or not at all. If prepare is not nil, it changes the unpacked files before the
// folder gets its name; other processes wait meanwhile.
func fetch(
	ctx context.Context, suite, architecture, into string,
	choose func(*apt) ([]string, error), prepare func(unpacked string) error,
) error {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := tool.Find(program); err != nil {
			return fmt.Errorf(
				"it takes %s, which Debian and its kin have; elsewhere unpack Debian's package into %s by hand",
				program,
				filepath.Join(place(suite, architecture), into))
		}
	}
	a, err := newApt(suite, architecture)
	if err != nil {
		return err
	}
	lock, err := a.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	target := filepath.Join(a.dir, into)
	if _, err := os.Stat(target); err == nil {
		return nil // another process has made it
	}
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return err
	}
	packages, err := choose(a)
	if err != nil {
		return err
	}
	unpacked := target + ".new"
	if err := os.RemoveAll(unpacked); err != nil {
		return err
	}
	if _, err := a.run(ctx, "apt-get", append([]string{"download"}, packages...)...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(a.dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if text, err := tool.Command(ctx, "dpkg-deb", "-x", file, unpacked).CombinedOutput(); err != nil {
			return fmt.Errorf("unpacking %s: %w: %s", file, err, bytes.TrimSpace(text))
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if prepare != nil {
		if err := prepare(unpacked); err != nil {
			return err
		}
	}
	return os.Rename(unpacked, target)
}

func newApt(suite, architecture string) (*apt, error) {
	a := &apt{dir: place(suite, architecture)}
	for _, folder := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	lines := fmt.Sprintf("deb http://deb.debian.org/debian %s main\n", suite)
	if !strings.HasSuffix(suite, "-backports") && suite != newestSuite {
		lines += fmt.Sprintf("deb http://deb.debian.org/debian-security %s-security main\n", suite)
	}
	for name, text := range map[string]string{"sources.list": lines, "status": ""} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	for _, o := range []string{
		"Dir::Etc::sourcelist=" + a.dir + "/sources.list", "Dir::Etc::sourceparts=-",
		"Dir::State::lists=" + a.dir + "/lists",
		"Dir::Cache=" + a.dir + "/cache", "Dir::State::status=" + a.dir + "/status",
		"APT::Architecture=" + architecture,
		"APT::Architectures::=" + architecture, "APT::Sandbox::User=root",
	} {
		a.options = append(a.options, "-o", o)
	}
	return a, nil
}

// lock excludes other processes from the suite until the file is closed.
func (a *apt) lock(ctx context.Context) (*os.File, error) {
	return lock.Wait(ctx, filepath.Join(a.dir, "lock"), lock.Unlimited)
}

func (a *apt) run(ctx context.Context, program string, args ...string) (string, error) {
	c := tool.Command(ctx, program, append(append([]string{}, a.options...), args...)...)
	c.Dir = a.dir
	c.Env = append(c.Env, tool.Proxies()...)
	var out, stderr bytes.Buffer
	c.Stdout = &out
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out.String(), nil
}
