// Package control decides how much one terminal may have on its way: from what all terminals of a
// cell report of themselves it finds the terminal's share (package internal/share/allocate) and the
// congestion windows that give this share and no queue beyond what the medium needs. It is pure:
// time is passed in, and every terminal decides alone and alike, since all know the same.
//
// # The wire
//
// What a terminal reaches alone (its maximum) is known, what the wire behind the access point
// carries is not. So the wire is taken as unlimited, and the shares as equal airtime, until that is
// seen to be false: queues stand, and yet the rates together use little of the airtime. Then the
// wire is what limits, and carries what is delivered just now. This knowledge ends after a while
// and is tried again; a capacity that is taken too low mends itself, since windows are bounded and
// not rates: a wire that is faster than assumed empties its queue and delivers more.
//
// # The windows
//
//	window = correction x share x (smallest RTT + queue target)
//
// An access to the medium costs as much for one frame as for sixty, so a station's queue must hold
// an aggregate when its turn comes. The queue target is the time in which the terminal with the
// greatest share sends one to three [AggregatePackets]: the others have less, in proportion to
// their shares, and this is what gives them less of the airtime. Each terminal corrects its window
// slowly by how far its rate, as a part of its share, lags behind that of all.
package control
