package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// udpHeader are the columns that TestUDPSaturationAgreesWithNS3 logs.
const udpHeader = "| row | ns-3, Mbit/s | airtide, Mbit/s | deviation (spread of runs) | frames in a PPDU: ns-3, " +
	"airtide | collided share | airtime of the stations / of the access point | its backlog, packets | rates of the " +
	"stations | their shares from ns-3's at most |"

// goTest runs tests and returns their log.
func goTest(ctx context.Context, pkg, run string) (string, error) {
	c := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", run, pkg)
	var out bytes.Buffer
	c.Stdout = &out
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("go test -run %s %s: %w", run, pkg, err)
	}
	return out.String(), nil
}

// rows prints the rows of a table that a test logs. The test itself holds them against the goal.
func rows(pkg, run string, header ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		out, err := goTest(ctx, pkg, run)
		fmt.Println(strings.Join(header, "\n"))
		for line := range strings.Lines(out) {
			if at := strings.Index(line, "| "); at >= 0 && strings.HasSuffix(strings.TrimSpace(line), "|") {
				fmt.Println(strings.TrimSpace(line[at:]))
			}
		}
		return err
	}
}

// passes lists the tests that pass.
func passes(pkg, run string) func(context.Context) error {
	return func(ctx context.Context) error {
		out, err := goTest(ctx, pkg, run)
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "--- ") {
				fmt.Println("-", strings.TrimSpace(strings.TrimPrefix(line, "--- ")))
			}
		}
		return err
	}
}
