// Package machine makes a network namespace a machine of an experiment: it gives it the TCP that the plan asks for and
// reads back what it has (Apply, Read), and runs programs in it that cannot outlive this process (Start). What a result
// must say of the computer below is here as well: the versions of the tools, what the kernel logged during a run, and where
// the processors' time went.
//
// The namespaces are made by others, for the cell; they are named as below /run/netns.
package machine
