package timewarp

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// Load loads the module from a file, selects its clock source and leaves N at 1. For an empty path
// it uses FindModule. It first undoes the changes of a killed process and returns them.
func (k *Kernel) Load(path string) (left *Undone, err error) {
	return k.begin(func() error { return k.load(path, false) })
}

// Set changes N, and how TCP follows it, with the module loaded by Load.
func (k *Kernel) Set(r Ratio, t TCP) (*Changed, error) {
	c := &Changed{}
	var err error
	c.Left, err = k.begin(func() (err error) {
		c.Lacks, err = k.set(r, t)
		return err
	})
	return c, err
}

// begin calls do under the lock, after undoing the changes of a killed process.
func (k *Kernel) begin(do func() error) (left *Undone, err error) {
	if err := k.Support(); err != nil {
		return nil, err
	}
	lock, err := k.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	left, err = k.undoLeft()
	if err != nil {
		return nil, err
	}
	return left, do()
}

func (k *Kernel) load(path string, temporary bool) error {
	if k.Loaded() {
		return errors.New("the module is loaded already: change N with airtide timewarp set, or unload it first")
	}
	if path == "" {
		var err error
		path, err = FindModule(Release())
		if err != nil {
			return err
		}
	}
	before, err := k.CurrentClockSource()
	if err != nil {
		return err
	}
	watchdogs, err := k.readWatchdogs()
	if err != nil {
		return err
	}
	s := &state{Before: before, Temporary: temporary, Watchdogs: watchdogs}
	if err := k.writeState(s); err != nil {
		return err
	}
	if err := k.loadAndSelect(path, s); err != nil {
		_, undoErr := k.undo(s)
		return errors.Join(err, undoErr)
	}
	return nil
}

func (k *Kernel) loadAndSelect(path string, s *state) error {
	if err := k.insert(path); err != nil {
		return err
	}
	if err := k.selectClockSource(moduleName); err != nil {
		return err
	}
	if err := k.mustBeCurrent(moduleName); err != nil {
		return err
	}
	now, err := k.Now()
	if err != nil {
		return err
	}
	s.Selected = now
	s.RatioSet = now
	return k.writeState(s)
}

// insert loads the module's file into the kernel.
func (k *Kernel) insert(path string) error {
	flags := 0
	if compressed(path) {
		if err := k.decompresses(path); err != nil {
			return err
		}
		flags = unix.MODULE_INIT_COMPRESSED_FILE // Linux 5.17
	} else if release, err := ModuleRelease(path); err != nil {
		return err
	} else if release != Release() {
		return fmt.Errorf("%s was built for kernel %s, and this is %s: build it with airtide timewarp build", path,
			release, Release())
	} else if err := checkSources(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the module: %w", err)
	}
	defer f.Close()
	if err := k.finitModule(int(f.Fd()), "", flags); err != nil {
		return fmt.Errorf("loading %s: %w%s", path, err, hint(err))
	}
	return nil
}

// decompresses returns an error if the kernel cannot decompress this module. A kernel supports one
// format or none.
func (k *Kernel) decompresses(path string) error {
	format, err := file.Line(filepath.Join(k.sys, "module/compression"))
	if err != nil {
		return fmt.Errorf(
			"this kernel does not decompress modules (CONFIG_MODULE_DECOMPRESS), such as %s: do so by xz -d or "+
				"zstd -d, and name the file with --module",
			path,
		)
	}
	if want := map[string]string{"xz": ".xz", "zstd": ".zst", "gzip": ".gz"}[format]; filepath.Ext(path) != want {
		return fmt.Errorf(
			"this kernel decompresses modules by %s only, which %s is not: decompress it, and name the file "+
				"with --module",
			format, path,
		)
	}
	return nil
}

// hint explains a kernel error for this module.
func hint(err error) string {
	switch {
	case errors.Is(err, unix.EEXIST):
		return ": it is loaded already"
	case errors.Is(err, unix.ENODEV):
		return ": this kernel does not trust its counter as a clock; on amd64 booting with tsc=reliable helps"
	case errors.Is(err, unix.EOPNOTSUPP):
		return ": timers tick periodically; boot without nohz=off and highres=off"
	case errors.Is(err, unix.ENOENT):
		return ": this kernel lacks a function that it needs (see dmesg)"
	case errors.Is(err, unix.ENOEXEC):
		return ": it was built for another kernel (see dmesg); build it with airtide timewarp build"
	case errors.Is(err, unix.EKEYREJECTED), errors.Is(err, unix.EPERM):
		return ": this kernel takes only signed modules (Secure Boot, lockdown)"
	}
	return " (see dmesg)"
}

// set changes N and how TCP follows it, or neither.
func (k *Kernel) set(r Ratio, t TCP) (lacks []string, err error) {
	if !k.Loaded() {
		return nil, errors.New("the module is not loaded: airtide timewarp load")
	}
	s, err := k.readState()
	if err != nil && !errors.Is(err, os.ErrNotExist) { // no state: another program loaded the module
		return nil, err
	}
	old, err := k.Ratio()
	if err != nil {
		return nil, err
	}
	before, err := k.tcpNow(s)
	if err != nil {
		return nil, err
	}
	lacks, err = k.change(s, old, r, t)
	if err != nil {
		return nil, errors.Join(err, k.changeBack(s, old, before))
	}
	if s == nil {
		return lacks, nil
	}
	if r.Float() <= old.Float() {
		// Watchdogs wait for longer before the clock goes faster, and for less after it goes
		// slower.
		if err := k.setWatchdogs(s.Watchdogs, r); err != nil {
			return nil, err
		}
	}
	s.RatioSet, err = k.Now()
	if err != nil {
		return nil, err
	}
	return lacks, k.writeState(s)
}

// change does the work of set. The ratio changes last: if change fails, the ratio is unchanged, but
// other settings may have changed.
func (k *Kernel) change(s *state, old, r Ratio, t TCP) (lacks []string, err error) {
	lacks, err = k.followTCP(r, t, s)
	if err != nil {
		return nil, err
	}
	if s != nil && r.Float() > old.Float() {
		if err := k.setWatchdogs(s.Watchdogs, r); err != nil {
			return nil, err
		}
		if err := passGracePeriod(); err != nil {
			lacks = append(lacks, fmt.Sprintf("the kernel may report a stall of RCU that is none: %v", err))
		}
	}
	err = k.writeRatio(r)
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = rtoNotSupported(cmp.Or(t.RTO, RTOBounds))
	}
	return lacks, err
}

// changeBack restores the settings of TCP and watchdogs for the unchanged ratio.
func (k *Kernel) changeBack(s *state, old Ratio, before TCP) error {
	_, err := k.followTCP(old, before, s)
	if err != nil {
		err = fmt.Errorf("and TCP is not as it was: %w", err)
	}
	if s == nil {
		return err
	}
	return errors.Join(err, k.setWatchdogs(s.Watchdogs, old))
}

func (k *Kernel) writeRatio(r Ratio) error {
	err := k.writeRatioFile(k.parameter("ratio"), r.String())
	if errors.Is(err, unix.EBUSY) {
		now, _ := k.CurrentClockSource()
		return fmt.Errorf("the clock source is %s, not timewarp: airtide timewarp unload, then load selects it", now)
	}
	if err != nil {
		return fmt.Errorf("setting the ratio to %s: %w", r, err)
	}
	return nil
}
