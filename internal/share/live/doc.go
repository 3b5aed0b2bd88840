// Package live tells other processes on this machine how running agents of airtide share are doing:
// a Server answers on a socket, Ask is the other side, Table prints.
//
// Agents may live in network and PID namespaces of their own and have only /run in common. So a
// socket is named by the network namespace, the cell and a random number, not by a process, and one
// is taken for dead when nobody listens on it.
package live
