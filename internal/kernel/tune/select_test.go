package tune

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// The test binary plays a program with sockets of its own, or one that is killed while it tunes.
const plays = "AIRTIDE_TUNE_TEST_PLAYS"

func TestMain(m *testing.M) {
	switch os.Getenv(plays) {
	case "program":
		program()
		return
	case "tuner":
		tuner()
		return
	}
	os.Exit(m.Run())
}

// program obeys lines: "dial ADDRESS" and "listen ADDRESS" open a socket, "lowat N" answers what
// the sockets have.
func program() {
	var (
		mu    sync.Mutex
		conns []*net.TCPConn
	)
	add := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, c.(*net.TCPConn))
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "dial":
			c, err := net.Dial("tcp4", rest)
			if err != nil {
				fmt.Println(err)
				continue
			}
			add(c)
			fmt.Println("ok")
		case "listen":
			l, err := net.Listen("tcp4", rest)
			if err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println(l.Addr())
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					add(c)
				}
			}()
		case "lowat":
			var all []string
			mu.Lock()
			for _, c := range conns {
				_ = testnet.Control(c, func(fd int) error {
					n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
					all = append(all, strconv.Itoa(n))
					return err
				})
			}
			mu.Unlock()
			fmt.Println(strings.Join(all, " "))
		}
	}
}
