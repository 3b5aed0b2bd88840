package run

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
)

// preflightVariable makes the test's program look at a machine that lacks what is in it: folders,
// and root.
const preflightVariable = "AIRTIDE_TEST_PREFLIGHT"

// demanding is an experiment that needs every program.
const demanding = `
name: demanding
terminals: {sta: {radio: {standard: n, phy_rate: 72.2 Mbit/s}}}
servers: {server: {}}
flows:
  upload: {from: sta, to: server, protocol: tcp}
  put: {from: sta, to: server, protocol: http_put}
  echo: {from: sta, to: server, protocol: ping}
record: {packets: all}
`

// lackingMachine hides parts of the machine in a mount namespace of this process and prints the
// preflight.
func lackingMachine(lacks string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	p, err := plan.Read(context.Background(), "demanding.yaml", []byte(demanding))
	fail(err)
	fail(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	root := true
	for _, what := range strings.Fields(lacks) {
		if what == "root" {
			root = false
		} else if _, err := os.Stat(what); err == nil {
			fail(unix.Mount("none", what, "tmpfs", 0, ""))
		}
	}
	if !root {
		fail(syscall.Setuid(65534))
	}
	fmt.Println(preflight(p))
	os.Exit(0)
}
