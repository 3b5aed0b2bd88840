package diag

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/clock"
)

// ErrNeedRoot says that other network namespaces were asked for without the privilege to enter
// them.
var ErrNeedRoot = errors.New(
	"observing other network namespaces needs root (CAP_SYS_ADMIN); run as root, or observe only the own one",
)

// space is one network namespace that is polled. Its socket keeps the namespace alive, so it is
// closed as soon as nothing else does.
type space struct {
	ns    owner.NetNS
	conn  *conn
	flows map[uint64]*flow // key: socket cookie, unique in its namespace
	seen  int              // flows in the current poll
}

// openIn opens a netlink socket in another network namespace. Only the opening thread has to be
// there for a moment: a socket stays in the namespace in which it was made.
func openIn(ns owner.NetNS) (c *conn, err error) {
	err = owner.InNetNS(ns, func() error {
		c, err = open()
		return err
	})
	if c == nil && errors.Is(err, os.ErrPermission) {
		return nil, ErrNeedRoot
	}
	return c, err
}

// wanted lists the network namespaces to poll: the own one, those that the filter names, or all.
func (s *Source) wanted() ([]owner.NetNS, error) {
	self := owner.NetNS{Inode: s.self, PID: uint32(os.Getpid())}
	only := s.options.Filter.NetNS
	if !s.options.AllNamespaces && (len(only) == 0 || len(only) == 1 && only[0] == s.self) {
		return []owner.NetNS{self}, nil
	}
	all, unreadable, err := owner.ListNetNS()
	if err != nil {
		return nil, fmt.Errorf("listing network namespaces: %w", err)
	}
	if !slices.ContainsFunc(all, func(n owner.NetNS) bool { return n.Inode == s.self }) {
		all = append(all, self) // the thread has a namespace of its own
	}
	if len(only) > 0 {
		all = slices.DeleteFunc(all, func(n owner.NetNS) bool { return !slices.Contains(only, n.Inode) })
	}
	s.stats.setHidden(unreadable)
	return all, nil
}

// openFirst opens the namespaces that there are at the start, where a missing privilege or
// namespace is an error.
func (s *Source) openFirst() error {
	list, err := s.wanted()
	if err != nil {
		return err
	}
	if !s.options.AllNamespaces {
		for _, inode := range s.options.Filter.NetNS {
			if !slices.ContainsFunc(list, func(n owner.NetNS) bool { return n.Inode == inode }) {
				return fmt.Errorf(
					"network namespace %d: no process lives in it and it is mounted nowhere, as far as may be seen",
					inode,
				)
			}
		}
	}
	denied := 0
	for _, ns := range list {
		switch err := s.add(ns); {
		case errors.Is(err, ErrNeedRoot):
			denied++
			if !s.options.AllNamespaces {
				return fmt.Errorf("network namespace %v: %w", ns, err)
			}
		case err != nil && !errors.Is(err, owner.ErrNetNSGone):
			return err
		}
	}
	// Some may be refused even to root (they belong to a user namespace further out), but not all
	// others.
	if others := len(list) - 1; others > 0 && denied >= others {
		return ErrNeedRoot
	}
	// Without root other users' namespaces are not even listed. Entering the own one shows whether
	// the process has the right.
	if s.options.AllNamespaces {
		c, err := openIn(owner.NetNS{Inode: s.self, Path: "/proc/thread-self/ns/net"})
		if err == nil {
			c.close()
		} else if errors.Is(err, ErrNeedRoot) {
			return ErrNeedRoot
		}
	}
	return nil
}

func (s *Source) add(ns owner.NetNS) error {
	var c *conn
	var err error
	if ns.Inode == s.self {
		c, err = open()
	} else {
		c, err = openIn(ns)
	}
	if err != nil {
		return err
	}
	s.spaces[ns.Inode] = &space{ns: ns, conn: c, flows: map[uint64]*flow{}}
	s.stats.setNamespaces(len(s.spaces))
	return nil
}

// relist opens namespaces that have appeared and gives up those that have gone.
func (s *Source) relist() error {
	list, err := s.wanted()
	if err != nil {
		return err
	}
	there := map[uint32]bool{}
	for _, ns := range list {
		there[ns.Inode] = true
		if s.spaces[ns.Inode] == nil {
			// One that cannot be entered, or has gone since, is tried again next time; Description
			// counts what is open.
			if err := s.add(ns); err != nil && !errors.Is(err, ErrNeedRoot) && !errors.Is(err, owner.ErrNetNSGone) {
				return err
			}
		}
	}
	for inode, sp := range s.spaces {
		// A socket that a process took along into another namespace still lives in this one.
		if there[inode] || inode == s.self || sp.held() {
			continue
		}
		sp.conn.close()
		delete(s.spaces, inode)
		s.stats.setNamespaces(len(s.spaces))
		for _, fl := range sp.flows {
			if err := s.end(fl, clock.Now(), closeReason(fl.past.state, false)); err != nil {
				return err
			}
		}
	}
	return nil
}

// held reports whether a process still has a socket in the namespace.
func (sp *space) held() bool {
	for _, fl := range sp.flows {
		if fl.held {
			return true
		}
	}
	return false
}
