package steplog

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

// version is the version of the format.
const version = 1

// entry is a line: the configuration of a session, or a step.
type entry struct {
	Session *session         `json:"session,omitempty"`
	Now     time.Duration    `json:"now,omitempty"`
	In      *control.Inputs  `json:"in,omitempty"`
	Gone    []uint64         `json:"gone,omitempty"` // sessions of peers that are gone
	Out     *control.Outputs `json:"out,omitempty"`
}

// session is the configuration of a core. Alpha is text, because JSON has no infinity.
type session struct {
	Version int            `json:"version"`
	Config  control.Config `json:"config"`
	Alpha   string         `json:"alpha,omitempty"`
}

func sessionOf(c control.Config) *session {
	s := &session{Version: version, Config: c}
	if a := c.Options.Alpha; a != nil {
		s.Alpha = strconv.FormatFloat(*a, 'g', -1, 64)
		s.Config.Options.Alpha = nil
	}
	return s
}

func (s *session) config() (control.Config, error) {
	if s.Version != version {
		return s.Config, fmt.Errorf("step log has version %d: this program reads version %d", s.Version, version)
	}
	c := s.Config
	if s.Alpha != "" {
		alpha, err := strconv.ParseFloat(s.Alpha, 64)
		if err != nil {
			return c, fmt.Errorf("alpha of a step log: %w", err)
		}
		c.Options.Alpha = &alpha
	}
	return c, nil
}

// peers are the newest reports, by session.
type peers map[uint64]message.Peer

// changes returns the peers with a new report and the sessions of gone peers, and applies both.
func (p peers) changes(all []message.Peer) (changed []message.Peer, gone []uint64) {
	present := map[uint64]bool{}
	for _, peer := range all {
		present[peer.Report.Session] = true
		if old, known := p[peer.Report.Session]; !known || old != peer {
			changed = append(changed, peer)
			p[peer.Report.Session] = peer
		}
	}
	for _, session := range slices.Sorted(maps.Keys(p)) {
		if !present[session] {
			gone = append(gone, session)
			delete(p, session)
		}
	}
	return changed, gone
}

// apply applies changes and returns all peers in order of their sessions.
func (p peers) apply(changed []message.Peer, gone []uint64) []message.Peer {
	for _, session := range gone {
		delete(p, session)
	}
	for _, peer := range changed {
		p[peer.Report.Session] = peer
	}
	return slices.SortedFunc(maps.Values(p), func(a, b message.Peer) int {
		return cmp.Compare(a.Report.Session, b.Report.Session)
	})
}

// aliases replaces addresses by numbers in order of their appearance.
type aliases map[netip.Addr]netip.Addr

func (a aliases) of(addr netip.AddrPort) netip.AddrPort {
	if !addr.IsValid() {
		return addr
	}
	alias, known := a[addr.Addr()]
	if !known {
		n := len(a) + 1
		alias = netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
		a[addr.Addr()] = alias
	}
	return netip.AddrPortFrom(alias, addr.Port())
}

// rename returns inputs and outputs with replaced addresses.
func (a aliases) rename(in control.Inputs, out control.Outputs) (control.Inputs, control.Outputs) {
	in.Flows = slices.Clone(in.Flows)
	in.Peers = slices.Clone(in.Peers)
	for i := range in.Flows {
		f := &in.Flows[i]
		f.Local = a.of(f.Local)
		f.Remote = a.of(f.Remote)
	}
	for i := range in.Peers {
		in.Peers[i].Source = a.of(in.Peers[i].Source)
	}
	out.Send = slices.Clone(out.Send)
	for i := range out.Send {
		b := &out.Send[i]
		b.Local = a.of(b.Local)
		b.Remote = a.of(b.Remote)
	}
	out.Receive = a.receive(out.Receive)
	out.View.Receive = a.receive(out.View.Receive)
	return in, out
}

func (a aliases) receive(all []control.ReceiveBound) []control.ReceiveBound {
	all = slices.Clone(all)
	for i := range all {
		b := &all[i]
		b.Local = a.of(b.Local)
		b.Remote = a.of(b.Remote)
	}
	return all
}
