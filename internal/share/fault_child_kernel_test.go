//go:build kernel

package share

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"airtide/test/testnet"
)

// child is an agent in a process of its own.
type child struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mutex  sync.Mutex
	status Status
	steps  int
	said   []byte // on standard error
}

func runChild(t *testing.T, h *testnet.Host, o order, attributes *syscall.SysProcAttr) *child {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command("/proc/self/exe"), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), playsAgent+"="+string(text))
	c.cmd.SysProcAttr = attributes
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	fail, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(c.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s Status
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				c.mutex.Lock()
				c.status, c.steps = s, c.steps+1
				c.mutex.Unlock()
			}
		}
		said, _ := io.ReadAll(fail)
		c.mutex.Lock()
		c.said = said
		c.mutex.Unlock()
		_ = c.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
	})
	return c
}

func (c *child) now() Status {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.status
}

// narrow gives what the client sends so little rate and so much queue that a window which is not
// bounded becomes far greater than one that is.
func narrow(t *testing.T) (n *testnet.Network, client, server *net.TCPConn) {
	t.Helper()
	const rate, queue = 20_000_000, 1 << 20
	n = testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(rate, queue); err != nil {
		t.Fatal(err)
	}
	client, server = n.Connect(testnet.Dial{CongestionControl: "reno"})
	testnet.Stream(t, client, server)
	return n, client, server
}

// lowRate is what the agents of a narrow network are told to reach alone: some 26 packets are its
// window, where the queue takes 700.
const lowRate = 2e6

// unboundWindow is more packets than a bound allows that follows from lowRate, and less than a
// window grows to which is not bounded: it stops where in flight is what the kernel lets wait in
// the device (two segments of TSO, tcp_small_queue_check), a hundred packets, and less where the
// smallest round-trip time is above half a millisecond, as in an emulated machine.
const unboundWindow = 45
