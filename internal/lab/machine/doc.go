// Package machine runs the machines of an experiment: network namespaces of the cell, and virtual
// machines in their place (Machine). A machine gets the TCP settings of the plan, tells its
// settings, and runs programs that cannot outlive this process.
//
// The package also reads the computer below the machines: versions of tools, the kernel's log
// during a run, and processor time.
package machine
