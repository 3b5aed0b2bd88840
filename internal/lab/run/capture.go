package run

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/machine"
)

const (
	snapBytes = "160"
	// captureEnd is how long tcpdump may take to write what it holds.
	captureEnd = 5 * time.Second
)

// capture is the packets of one machine being captured.
type capture struct {
	machine, file string
	process       *machine.Process
	said          chan string // its last lines, once it has ended
}

// startCapture captures into dir, and returns when nothing is missed any more. Of a virtual machine it captures what passes
// between it and the cell.
func startCapture(dir string, host cell.Host, guest bool) (*capture, error) {
	device := "any"
	if guest {
		device = "eth0"
	}
	path, err := machine.Tcpdump.Path()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("capturing packets of %s: %w", host.Name, err)
	}
	c := &capture{machine: host.Name, file: host.Name + ".pcap", said: make(chan string, 1)}
	c.process, err = machine.Start(machine.Command{
		Namespace: host.Namespace, Path: path, Dir: dir, Stderr: write,
		Args: []string{"-i", device, "-w", c.file, "-s", snapBytes, "-U", "-n", "-Z", "root", "--time-stamp-precision", "nano"},
	})
	write.Close()
	if err != nil {
		read.Close()
		return nil, fmt.Errorf("capturing packets of %s: %w", host.Name, err)
	}
	listening := make(chan bool, 1)
	go func() {
		defer read.Close()
		var last string
		for s := bufio.NewScanner(read); s.Scan(); {
			if last = s.Text(); strings.Contains(last, "listening on") {
				listening <- true
			}
		}
		c.said <- last
		close(listening)
	}()
	if !<-listening {
		c.process.Kill()
		return nil, fmt.Errorf("capturing packets of %s: tcpdump: %s", host.Name, <-c.said)
	}
	return c, nil
}

// end ends the capture, and returns once it is written.
func (c *capture) end() error {
	c.process.Signal(syscall.SIGINT)
	select {
	case <-c.process.Done():
	case <-time.After(captureEnd):
		c.process.Kill()
		return fmt.Errorf("capturing packets of %s: tcpdump did not end", c.machine)
	}
	if err := c.process.Err(); err != nil {
		return fmt.Errorf("capturing packets of %s: tcpdump: %w: %s", c.machine, err, <-c.said)
	}
	return nil
}
