package message

import "errors"

// Reason is what became of a datagram.
type Reason uint8

// Accepted, and the reasons why a report counts for nothing.
const (
	Accepted     Reason = iota
	Own                 // one's own, come back
	Oversized           // longer than MaxDatagram
	Malformed           // no datagram of this protocol, or a sealed one with wrong lengths
	OtherVersion        // another major version of the format
	OtherCell           // the tag of another key
	Replayed            // seen already
	Stale               // older than the newest of its session
	RateLimited         // more from this source, or in all, than is looked at
	WrongKey            // does not open: another key, or changed on the way
	Implausible         // sealed by a member, beyond the limits of a report
	Moved               // its session is alive at another source
	Unconfirmed         // its session has not answered one's own challenge: it may be a recording
	SourceTaken         // another session is alive at this source
	TooManyPeers        // no room for another one
	Bundled             // a hub's bundle: the reports in it count by themselves
	NotAHub             // a bundle from where no hub is expected
	NumReasons
)

var reasonNames = [NumReasons]string{
	"accepted", "own", "oversized", "malformed", "other_version", "other_cell", "replayed", "stale", "rate_limited", "wrong_key",
	"implausible", "moved", "unconfirmed", "source_taken", "too_many_peers",
	"bundled", "not_a_hub",
}

// String is the reason in snake case, as metrics and status name it.
func (r Reason) String() string { return reasonNames[r] }

// reasonOf is the reason that an error of parsing stands for.
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
