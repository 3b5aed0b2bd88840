// Package engine carries real packets between network namespaces and a world in virtual time. The
// world is the emulated cell with its path. It decides what happens to a packet; the engine reads,
// writes and keeps time.
//
// The engine is a separate process: this program, executed again. It runs at a real-time priority
// and shares its Go runtime with nothing else. One thread waits in epoll until a packet can be read
// or the next event of the world is due. A packet enters the world at its read time. Events happen
// at their virtual time, even if the engine is late. The lateness is counted (Status.Lag).
//
// A Station is a veth. The engine reads its far end through a macvtap (passthru). Until then a
// packet stays charged to the sender's socket, so a full queue blocks the sender, as a Wi-Fi driver
// does. A Server is a TUN device. An Outside interface, such as the TAP of a virtual machine, is
// reached through a packet socket.
//
// Namespaces are named airtide-cell-PID-NAME with the engine's PID, and outside of the first PID
// namespace airtide-cell-PID.PIDNS-NAME. The next engine removes the namespaces of killed engines.
//
// The program's main function hands over to the engine:
//
//	if engine.IsEngine() {
//		os.Exit(engine.Main(build))
//	}
package engine
