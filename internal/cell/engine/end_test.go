package engine

import (
	"context"
	"fmt"
	"io"
	"os"
)

// parentVariable has the test binary be a process that runs an engine until it is killed.
const parentVariable = "AIRTIDE_TEST_PARENT"

func beParent() int {
	c := pair(lineConfig{Limit: 10})
	c.Ports[0].Refuse = true
	e, err := Start(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(e.Ready.PID)
	for _, w := range e.Ready.Warnings {
		fmt.Println(w)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := e.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
