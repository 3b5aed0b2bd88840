package benchtext

import (
	"fmt"
	"os"

	"airtide/internal/sys/awake"
)

// KeepAwake keeps the processors awake for all that is measured alike, where the kernel can: on a
// virtual machine, what is measured is otherwise how soon the host gives a processor back that has
// slept. Undo lets them sleep again.
func KeepAwake() (undo func()) {
	k, err := awake.Keep()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: processors sleep as they like: %v\n", err)
		return func() {}
	}
	return func() { _ = k.Close() }
}
