package message

import "errors"

// Reason is the outcome of a received datagram.
type Reason uint8

// Accepted, and the reasons to reject a report.
const (
	Accepted     Reason = iota
	Own                 // sent by this terminal
	Oversized           // longer than MaxDatagram
	Malformed           // it is of another protocol, or has wrong lengths
	OtherVersion        // it has another major version of the format
	OtherCell           // it has the tag of another key
	Replayed            // received before
	Stale               // older than the newest of its session
	RateLimited         // above the limit of its source, or of all
	WrongKey            // sealed with another key, or changed in transit
	Implausible         // sealed by a member, with values beyond their limits
	Moved               // its session is alive at another source
	Unconfirmed         // its session has not answered the challenge, so it may be a replay
	SourceTaken         // another session is alive at its source
	TooManyPeers        // no room for another peer
	Bundled             // a hub's bundle; its reports are counted separately
	NotAHub             // a bundle from an address that is not a hub's
	NumReasons
)

var reasonNames = [NumReasons]string{
	"accepted", "own", "oversized", "malformed", "other_version", "other_cell", "replayed", "stale",
	"rate_limited", "wrong_key", "implausible", "moved", "unconfirmed", "source_taken", "too_many_peers",
	"bundled", "not_a_hub",
}

// String returns the reason in snake case for metrics and status.
func (r Reason) String() string { return reasonNames[r] }

// reasonOf returns the reason of a parser's error.
func reasonOf(err error) Reason {
	var version VersionError
	switch {
	case err == nil:
		return Accepted
	case errors.As(err, &version):
		return OtherVersion
	case errors.Is(err, errTooLong):
		return Oversized
	case errors.Is(err, errDoesNotOpen):
		return WrongKey
	case errors.Is(err, errImplausible):
		return Implausible
	}
	return Malformed
}
