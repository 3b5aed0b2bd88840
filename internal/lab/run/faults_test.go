package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"airtide/internal/lab/plan"
)

// childVariable makes the test's program a lab that is killed: its value is where results go.
const childVariable = "AIRTIDE_TEST_LAB"

func child(root string) {
	lockPath = filepath.Join(root, "lab.lock")
	p, err := plan.Read(context.Background(), "small.yaml", []byte(smallFair))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, err = Run(context.Background(), root, p, Options{
		LagLimit: time.Minute,
		Progress: func(p Progress) {
			if p.Elapsed > 0 {
				fmt.Println("running")
			}
		},
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// smallFair is small with a congestion control of airtide.
var smallFair = strings.Replace(
	small, "{profile: linux-today, count: 2,", "{profile: linux-today, congestion: cubic_rtt, count: 2,", 1,
)
