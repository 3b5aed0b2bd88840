package diag

import (
	"bufio"
	"fmt"
	"net"
	"os"
)

// connectAsChild makes a connection over loopback, prints its client's address and waits until its
// input ends.
func connectAsChild() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err == nil {
		var c net.Conn
		c, err = net.Dial("tcp4", l.Addr().String())
		if err == nil {
			fmt.Println(c.LocalAddr())
			_, _ = bufio.NewReader(os.Stdin).ReadByte()
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
