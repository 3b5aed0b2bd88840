// Package machine provides the machines of an experiment (Machine): network namespaces of the cell,
// and virtual machines that replace them. A machine applies the TCP settings of the plan and
// reports its settings. It runs programs that end with this process at the latest.
//
// The package also reads data of the computer: versions of tools, the kernel's log during a run,
// and processor time.
package machine
