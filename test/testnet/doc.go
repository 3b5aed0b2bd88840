// Package testnet makes networks for tests and benchmarks: two hosts, each a network namespace,
// joined by a veth whose two directions lose, refuse, mark, delay and reorder segments exactly as
// told.
//
// It needs root. Faults are decided by a BPF program at the traffic-control hooks (TCX, kernel 6.6;
// clsact before), so a test says which segment is hit, not how likely one is. Namespaces are named
// airtide-test-PID-...; those of processes that are gone are removed when the next network is made.
//
//	network := testnet.New(t, testnet.Options{Segments: true})
//	network.Client.Out.Delay(5 * time.Millisecond)
//	network.Client.Out.DropData(10, 1) // the eleventh data segment from now on
//	client, server := network.Connect(testnet.Dial{CongestionControl: "cubic"})
package testnet
