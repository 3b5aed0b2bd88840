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
)

// State is what a machine's TCP ran with, for the result.
type State struct {
	// Sysctls of the namespace: all of net.ipv4 and net.core but those of devices, neighbours and keys.
	Sysctls map[string]string `json:"sysctls"`
	// Computer has those of them that are not per namespace and hold for every machine (tcp_mem, netdev_max_backlog).
	Computer map[string]string `json:"computer"`
	Routes   []Route           `json:"routes"`
}

// Route is one to other machines. A field that is zero is the kernel's default.
type Route struct {
	To             string `json:"to"` // a prefix, or default
	Via            string `json:"via,omitempty"`
	Device         string `json:"device"`
	MTU            int    `json:"mtu,omitempty"`
	InitialWindow  int    `json:"initial_window_segments,omitempty"`
	InitialReceive int    `json:"initial_receive_window_segments,omitempty"`
	Congestion     string `json:"congestion,omitempty"`
}

// Read reads what a machine's TCP has.
func Read(namespace string) (State, error) {
	var s State
	err := In(namespace, func() (err error) {
		s, err = readHere()
		return err
	})
	if err == nil {
		s.Computer, err = readSysctls()
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the stack of %s: %w", namespace, err)
	}
	for name := range s.Sysctls {
		delete(s.Computer, name)
	}
	return s, nil
}

// readSysctls reads those that the calling thread is shown. What only root may read is a key, or a switch that reads
// nothing (tcp_fastopen_key, route.flush).
func readSysctls() (map[string]string, error) {
	all := map[string]string{}
	for _, folder := range []string{"net/core", "net/ipv4"} {
		err := filepath.WalkDir(filepath.Join(sysctlFolder, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // the module that it belongs to has just been unloaded
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

func readRoutes() ([]Route, error) {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening netlink: %w", err)
	}
	defer links.Close()
	routes, err := mainRoutes(links)
	if err != nil {
		return nil, err
	}
	list := []Route{}
	for _, r := range routes {
		route := Route{
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
