package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// IsGuest reports whether this process is the first of a guest, which must call Main.
func IsGuest() bool { return os.Getpid() == 1 && os.Getenv(guestVariable) != "" }

// Function is a function that the host can call in a guest. Input and output are JSON.
type Function func(input json.RawMessage) (output any, err error)

// Main runs a guest until the host ends it. Guest.Call calls its functions. It never returns.
func Main(functions map[string]Function) {
	if err := runGuest(functions); err != nil {
		fmt.Fprintf(os.Stderr, "airtide: the guest: %v\n", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // the first process must not end
}

// mounted is the value of guestVariable after the guest's file systems are mounted. It replaces the
// value of the kernel's parameter.
const mounted = "mounted"

func runGuest(functions map[string]Function) error {
	if os.Getenv(guestVariable) != mounted {
		if err := mountAll(); err != nil {
			return err
		}
		// Packages read /proc when the program starts, and remember missing files.
		if err := os.Setenv(guestVariable, mounted); err != nil {
			return err
		}
		return unix.Exec(Program, []string{Program}, os.Environ())
	}
	var s task
	text, err := os.ReadFile(taskFile)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return fmt.Errorf("reading the task of the guest: %w", err)
	}
	for _, name := range s.Modules {
		if err := loadModule(filepath.Join(modulesPath, name+".ko")); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(modulesPath); err != nil {
		return err
	}
	if err := setUpNet(s.Net); err != nil {
		return fmt.Errorf("setting up the network: %w", err)
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	server := &server{to: &frameWriter{to: port}, functions: functions, running: map[uint32]*os.Process{}}
	if err := server.to.writeJSON(frameHello, 0, Hello{Release: unix.ByteSliceToString(u.Release[:])}); err != nil {
		return err
	}
	return server.serve(bufio.NewReaderSize(port, 64<<10))
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("loading a module: %w", err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("loading module %s: %w", path, err)
	}
	return nil
}

// portLimit limits the wait for the port.
const portLimit = time.Minute

// openPort opens the virtio-serial port to the host. The driver learns the port's name from qemu
// some time after it was loaded.
func openPort() (*os.File, error) {
	for deadline := time.Now().Add(portLimit); ; time.Sleep(time.Millisecond) {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, path := range names {
			if text, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(text)) == portName {
				return os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(path))), os.O_RDWR, 0)
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("there is no virtio-serial port named %s", portName)
		}
	}
}
