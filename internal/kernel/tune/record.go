package tune

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

func endpoints(r *socketsTuneRecord) (local, remote netip.AddrPort) {
	address := func(words [4]uint32, port uint16) netip.AddrPort {
		var b [16]byte
		for i, w := range words {
			binary.NativeEndian.PutUint32(b[4*i:], w)
		}
		if r.Family == unix.AF_INET {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), port)
		}
		return netip.AddrPortFrom(netip.AddrFrom16(b), port)
	}
	return address(r.Local, r.LocalPort), address(r.Remote, r.RemotePort)
}

func text(name [16]int8) string {
	var b []byte
	for _, c := range name {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// socket converts a record of the programs into a report entry.
func (k *kernel) socket(r *socketsTuneRecord) Socket {
	s := Socket{
		Cookie: r.Cookie, NetNS: r.Netns, Cgroup: r.Cgroup, New: r.Slot.Flags&uint32(socketsTuneSlotFlagsTUNE_NEW) != 0,
		CongestionControl: text(r.Cc), CwndPackets: r.Cwnd, SsthreshPackets: r.Ssthresh,
		RTOUs: ticks(k, int64(r.Rto)), Values: []Value{}, inode: r.Inode,
	}
	s.Local, s.Remote = endpoints(r)
	if has(r.Slot.Mask, settingCC) {
		v := Value{Name: "congestion_control", Before: text(r.Slot.OldCc), Want: text(r.Slot.WantCc), Now: text(r.Cc)}
		v.judge(v.Now == v.Want, r, settingCC)
		s.Values = append(s.Values, v)
	}
	for x := range socketsTuneSettingTUNE_SETTINGS {
		property := properties[x]
		if !has(r.Slot.Mask, x) || !property.own {
			continue
		}
		now := r.Now[x]
		if x == socketsTuneSettingTUNE_INITIAL_WINDOW {
			now = r.Slot.Left[x] // the window has grown since
		}
		v := Value{
			Name: property.name, Before: property.shown(k, r.Slot.Old[x]), Want: property.shown(k, r.Slot.Want[x]),
			Now: property.shown(k, now),
		}
		v.judge(now == r.Slot.Want[x], r, x)
		switch x {
		case socketsTuneSettingTUNE_UPPER, socketsTuneSettingTUNE_LOWER:
			v.By = byBounds
		case socketsTuneSettingTUNE_CLAMP:
			v.By = byOption
		}
		s.Values = append(s.Values, v)
	}
	return s
}

func has(mask uint32, x setting) bool { return mask&(1<<x) != 0 }

// judge compares a value with the wanted value and sets the error.
func (v *Value) judge(equal bool, r *socketsTuneRecord, x setting) {
	v.Later = has(r.Superseded, x)
	v.OK = equal || v.Later
	refused := unix.Errno(r.Slot.Error[x])
	switch {
	case v.OK:
	case x == socketsTuneSettingTUNE_LOWER && refused == unix.EOPNOTSUPP:
		v.Error = "a lower bound needs cubic_bound: airtide cc load cubic_bound --pin, and --cc cubic_bound"
	case refused != 0:
		v.Error = fmt.Sprintf("the kernel refused it: %v", refused)
	default:
		v.Error = "it was changed since, by its program or by the kernel"
	}
}
