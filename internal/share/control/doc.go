// Package control decides how much one terminal may have in flight. From the reports of all
// terminals of a cell it computes the terminal's share (package internal/share/allocate), and the
// windows that give this share with no more queue than the medium needs. It is pure: the caller
// passes in the time. All terminals decide the same, because all know the same reports.
//
// # The wire
//
// The standalone rates of the terminals are known. The capacity of the wire behind the access point
// is not, so the wire counts as unlimited, and shares are equal airtime, until queues stand
// although the rates together need little airtime. Then the wire limits, and its capacity is the
// present total. This knowledge expires and is tested again. A capacity that is too low corrects
// itself: windows are bounded, not rates, so a faster wire empties its queue and delivers more.
//
// # The windows
//
//	window = correction x share x (smallest RTT + queue target)
//
// One access to the medium costs as much for one frame as for sixty. So a station's queue must hold
// an A-MPDU when its turn comes. The queue target is the time in which the terminal with the
// greatest share sends one to three A-MPDUs of [AggregatePackets]. The others queue less, in
// proportion to their shares, and so they get less airtime. Each terminal slowly corrects its
// windows until its rate is the same part of its share as the rate of all.
package control
