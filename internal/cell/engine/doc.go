// Package engine carries real packets between network namespaces and a world in virtual time: the
// emulated cell and the path behind it. It is the thin shell round them; what happens to a packet
// is the world's to decide.
//
// The engine is a process of its own, this program executed again, because it runs at a real-time
// priority as a whole and must not share its runtime with anything else. One thread does the work:
// it waits in epoll until a packet can be read or the world's next event is due. A packet enters
// the world at the time at which it is read; events happen at their virtual time, which does not
// slip when the engine is late. How late it was is counted (Status.Lag).
//
// A station is a veth whose far end carries a macvtap (passthru) that the engine reads: a packet
// stays charged to the sender's socket until then, so a full queue blocks the sender as a Wi-Fi
// driver's does. A server is a TUN device. An interface outside, such as the TAP of a virtual
// machine, is reached by a packet socket. Namespaces are named airtide-cell-PID-..., where PID is
// the engine's; those of engines that are gone are removed at the next start.
//
// The program's main hands over when it was started as an engine:
//
//	if engine.IsEngine() {
//		os.Exit(engine.Main(build))
//	}
package engine
