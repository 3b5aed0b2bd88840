// Package statusfeed connects running agents of airtide share with other processes on this machine.
// A Server answers on a socket, Ask is the other side, and Table prints.
//
// Agents may have their own network and PID namespaces and share only /run. A socket is therefore
// named by the network namespace, the cell and a random number instead of the process. A socket
// without a listener is dead.
package statusfeed
