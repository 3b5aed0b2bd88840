package engine

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// needed are the capabilities without which no engine starts, by their numbers in
// include/uapi/linux/capability.h.
var needed = []struct {
	number int
	name   string
}{
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, // namespaces, mounts
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, // devices, routes
	{unix.CAP_MKNOD, "CAP_MKNOD"},         // the nodes of macvtaps
}

// checkPrivilege returns an error that names the capabilities that this process lacks.
func checkPrivilege() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("asking for this process's capabilities: %w", err)
	}
	var missing []string
	for _, c := range needed {
		if data[c.number/32].Effective&(1<<(c.number%32)) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf(
			"it makes network namespaces and devices, which needs root (%s is missing): run it with sudo, in a "+
				"container with --privileged",
			strings.Join(missing, ", "),
		)
	}
	return nil
}
