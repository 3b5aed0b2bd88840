// Package workload runs the flows of a run with real programs: iperf3 for tcp and udp, curl and
// Apache httpd for http_put, http_get, transfers and web, and iputils' ping.
//
// Prepare starts the servers and waits until they listen. Session.Run starts each client at its
// time, ends it at its stop, and returns the reports of the programs. Session.Close removes
// everything. Every flow except ping has its own port at its server, so the cell can count its
// packets.
//
// A flow starts when its client's program starts: the program needs some milliseconds before it
// opens the connection. iperf3 first opens a control connection to the same port.
package workload
