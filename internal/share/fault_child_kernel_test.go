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

// child is an agent in a separate process.
type child struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu     sync.Mutex
	status Status
	steps  int
	said   []byte // output on standard error
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
				c.mu.Lock()
				c.status = s
				c.steps++
				c.mu.Unlock()
			}
		}
		said, _ := io.ReadAll(fail)
		c.mu.Lock()
		c.said = said
		c.mu.Unlock()
		_ = c.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
	})
	return c
}

func (c *child) now() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// narrow makes a network with a low rate and a long queue, in which a window without a bound grows
// far beyond a bounded one.
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

// lowRate is the configured standalone rate of the agents in a narrow network, in bit/s. Its window
// is about 26 packets, and the queue holds 700.
const lowRate = 2e6

// unboundWindow is greater than a bound for lowRate, in packets, and less than a window without a
// bound. That one grows to the kernel's limit of packets in the device (tcp_small_queue_check):
// about a hundred, and fewer if the smallest RTT is above half a millisecond.
const unboundWindow = 45
