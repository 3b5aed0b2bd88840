// Package workload carries out the flows of a run with real programs: iperf3 for tcp and udp, curl
// and Apache httpd for http_put, http_get, transfers and web, and iputils' ping.
//
// Prepare starts the servers and waits until they listen; Session.Run starts each client at its
// time, ends it at its stop, and returns what the programs report; Session.Close leaves nothing
// behind. Every flow but ping has a port of its own at its server, so that the cell can count its
// packets.
//
// A client's start is that of its program: the program's own start (some milliseconds) and the
// opening of the connection come on top. iperf3 opens a connection for control first, to the same
// port.
package workload
