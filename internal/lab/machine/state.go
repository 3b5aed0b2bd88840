package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/lab/result"
)

// State contains the TCP settings of a machine, for the result.
type State struct {
	// Sysctls has net.ipv4 and net.core of the namespace, except sysctls of devices, neighbours and
	// keys.
	Sysctls map[string]string `json:"sysctls"`
	// Computer has the sysctls that are not per namespace (tcp_mem, netdev_max_backlog). It is
	// empty in a guest.
	Computer map[string]string `json:"computer"`
	Routes   []result.Route    `json:"routes"`
}

// readState reads the settings of the namespace that the thread is in.
func readState() (s State, err error) {
	s.Sysctls, err = readSysctls()
	if err != nil {
		return s, err
	}
	s.Routes, err = readRoutes()
	return s, err
}

// readSysctls reads the sysctls that are visible to the calling thread. It skips files that only
// root may read, such as keys (tcp_fastopen_key) and write-only switches (route.flush).
func readSysctls() (map[string]string, error) {
	all := map[string]string{}
	for _, folder := range []string{"net/core", "net/ipv4"} {
		err := filepath.WalkDir(filepath.Join(sysctlFolder, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // its module has just been unloaded
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "conf" || d.Name() == "neigh"):
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			if info, err := d.Info(); err != nil || info.Mode()&0o004 == 0 {
				return nil
			}
			value, err := readSysctl(path)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			name := strings.ReplaceAll(strings.TrimPrefix(path, sysctlFolder+"/"), "/", ".")
			all[name] = value
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("reading sysctls: %w", err)
		}
	}
	return all, nil
}

func readRoutes() ([]result.Route, error) {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening netlink: %w", err)
	}
	defer links.Close()
	routes, err := mainRoutes(links)
	if err != nil {
		return nil, err
	}
	list := []result.Route{}
	for _, r := range routes {
		route := result.Route{
			To: "default", MTU: r.MTU, InitialWindow: r.InitCwnd, InitialReceive: r.InitRwnd, Congestion: r.Congctl,
		}
		if r.Dst != nil {
			route.To = r.Dst.String()
		}
		if r.Gw != nil {
			route.Via = r.Gw.String()
		}
		if link, err := links.LinkByIndex(r.LinkIndex); err == nil {
			route.Device = link.Attrs().Name
		}
		list = append(list, route)
	}
	return list, nil
}
