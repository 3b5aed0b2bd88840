package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

// serveVariable makes the test's program, in a guest, listen at an address and send back what it
// gets.
const serveVariable = "VM_TEST_ECHO"

func TestMain(m *testing.M) {
	if IsGuest() {
		Main(map[string]Function{
			"double": func(input json.RawMessage) (any, error) {
				var n int
				if err := json.Unmarshal(input, &n); err != nil {
					return nil, err
				}
				return 2 * n, nil
			},
			"fail": func(json.RawMessage) (any, error) { return nil, errors.New("as it should") },
		})
	}
	if os.Getenv(childVariable) != "" {
		child()
	}
	if address := os.Getenv(serveVariable); address != "" {
		fmt.Println(echo(address))
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// echo sends back what the first connection sends, and ends with it.
func echo(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	c, err := l.Accept()
	if err != nil {
		return err
	}
	_, err = io.Copy(c, c)
	return errors.Join(err, c.Close())
}

// childVariable makes the test's program boot a guest, say qemu's process, and wait to be killed.
const childVariable = "VM_TEST_CHILD"

func child() {
	k, err := Cached("6.1")
	if err == nil {
		var g *Guest
		g, err = Start(context.Background(), Config{Kernel: k})
		if err == nil {
			fmt.Println(g.PID())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
