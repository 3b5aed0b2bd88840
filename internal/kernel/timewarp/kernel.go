package timewarp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// moduleName is the name of the module and of its clock source.
const moduleName = "timewarp"

// ErrNoModules means that the kernel was built without loadable modules.
var ErrNoModules = errors.New("this kernel has no loadable modules (CONFIG_MODULES), " +
	"so its clock cannot be accelerated; still works: airtide timewarp build --kernel-headers DIR builds the " +
	"module for " +
	"another kernel, and every other verb")

// Kernel is the running kernel as this package sees it.
type Kernel struct {
	sys, proc, state string
	finitModule      func(fd int, parameters string, flags int) error
	deleteModule     func(name string, flags int) error
	setDate          func(behindNs int64) (bool, error)
	attachInitialRTO func(at uint64) error
	detachInitialRTO func() error
	loadCubic        func(Ratio) error
	unloadCubic      func() error
	writeClockSource func(path, name string) error
	writeRatioFile   func(path, ratio string) error
}

// Running is the kernel that runs.
func Running() *Kernel {
	return &Kernel{
		sys: "/sys", proc: "/proc", state: "/run/airtide",
		finitModule: unix.FinitModule, deleteModule: unix.DeleteModule, setDate: setDateBack,
		attachInitialRTO: attachInitialRTO, detachInitialRTO: detachInitialRTO, loadCubic: loadCubic,
		unloadCubic:      unloadCubic,
		writeClockSource: file.Set, writeRatioFile: file.Set,
	}
}

func (k *Kernel) clockSource(file string) string {
	return filepath.Join(k.sys, "devices/system/clocksource/clocksource0", file)
}

func (k *Kernel) parameter(name string) string {
	return filepath.Join(k.sys, "module", moduleName, "parameters", name)
}

// Support returns the reason why this kernel cannot load the module, or nil.
func (k *Kernel) Support() error {
	// Loading a module without a file always fails. The error shows whether a real load could work.
	switch err := k.finitModule(-1, "", 0); {
	case errors.Is(err, unix.EBADF):
		return nil
	case errors.Is(err, unix.ENOSYS):
		return ErrNoModules
	case errors.Is(err, unix.EPERM):
		if text, _ := file.Line(filepath.Join(k.proc, "sys/kernel/modules_disabled")); text == "1" {
			return errors.New("loading modules is switched off until the next boot (kernel.modules_disabled = 1)")
		}
		return errors.New(
			"this process may not load modules: root is needed (CAP_SYS_MODULE), and a kernel that was not " +
				"booted with nomodule",
		)
	default:
		return fmt.Errorf("asking the kernel for module support: %w", err)
	}
}

// Loaded reports whether the module is loaded.
func (k *Kernel) Loaded() bool {
	_, err := os.Stat(k.parameter("ratio"))
	return err == nil
}

// CurrentClockSource returns the kernel's current clock source.
func (k *Kernel) CurrentClockSource() (string, error) {
	name, err := file.Line(k.clockSource("current_clocksource"))
	if err != nil {
		return "", fmt.Errorf("asking for the clock source: %w", err)
	}
	return name, nil
}

// otherClockSources returns the available clock sources besides timewarp, best first.
func (k *Kernel) otherClockSources() ([]string, error) {
	text, err := file.Line(k.clockSource("available_clocksource"))
	if err != nil {
		return nil, fmt.Errorf("asking for clock sources: %w", err)
	}
	var others []string
	for _, name := range strings.Fields(text) {
		if name != moduleName {
			others = append(others, name)
		}
	}
	return others, nil
}

// selectClockSource selects a clock source, or the kernel's preferred one for an empty name.
func (k *Kernel) selectClockSource(name string) error {
	if err := k.writeClockSource(k.clockSource("current_clocksource"), name); err != nil {
		return fmt.Errorf("selecting clock source %s: %w", name, err)
	}
	return nil
}

// mustBeCurrent reads the clock source back: the kernel takes any name, and uses it when it can.
func (k *Kernel) mustBeCurrent(name string) error {
	now, err := k.CurrentClockSource()
	if err != nil {
		return err
	}
	if now != name {
		return fmt.Errorf("the kernel did not take clock source %s and keeps %s: see dmesg", name, now)
	}
	return nil
}
