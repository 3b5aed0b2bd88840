// Package simulate runs a cell of terminals that share it, from two to a thousand and more, in
// virtual time: what they say (package internal/share/message: sealed datagrams) and what they
// decide (package internal/share/control) is the real thing, what they send is sources that keep a
// window on its way. The medium is either the emulated one of package cell, with every frame
// ([Emulated]), or a model of its queues that costs next to nothing ([Queues]). The same
// configuration gives the same run.
package simulate
