package congestion

import (
	"fmt"
	"os"
	"sync/atomic"
)

var names atomic.Uint32

// uniqueName is a name that no other test on this machine uses: congestion controls are one for the
// whole machine.
func uniqueName(prefix string) string {
	return fmt.Sprintf("%s%d_%d", prefix, os.Getpid(), names.Add(1))
}
