package message

import (
	"fmt"
	"time"
)

// TurnKind is what the terminals do together in a turn.
type TurnKind uint8

// The kinds.
const (
	NoTurn TurnKind = iota
	Solo            // who asked has the cell for itself; the others send and receive next to nothing
	Still           // all hold back, so that the path's round-trip time shows
	Free            // nobody is bound
	numTurnKinds
)

var turnNames = [numTurnKinds]string{"none", "solo", "still", "free"}

func (k TurnKind) String() string {
	if k >= numTurnKinds {
		return fmt.Sprintf("turn %d", uint8(k))
	}
	return turnNames[k]
}

// MarshalText is the kind's name.
func (k TurnKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Turn is a time for which a terminal asks the others. The zero value asks for none.
type Turn struct {
	Kind TurnKind `json:"kind"`
	// InMs is how long after the report was sent it begins, and ForMs how long it lasts.
	InMs  uint16 `json:"in_ms"`
	ForMs uint16 `json:"for_ms"`
}

// Times of a turn are in steps, up to the greatest of which the report has room for.
const (
	TurnBeginStep  = 25 * time.Millisecond
	TurnLengthStep = 200 * time.Millisecond
	LatestTurn     = turnBeginMask * TurnBeginStep
	LongestTurn    = turnLengthMask * TurnLengthStep
)

// Where a turn stands in the flags.
const (
	turnKindBit, turnKindMask     = 1, 3
	turnBeginBit, turnBeginMask   = 3, 63
	turnLengthBit, turnLengthMask = 9, 15
)

// TurnIn is a turn that begins so long from now, brought to what a report can say: none when that is not possible.
func TurnIn(kind TurnKind, in, length time.Duration) Turn {
	in, length = max(in, 0).Round(TurnBeginStep), length.Round(TurnLengthStep)
	if kind == NoTurn || kind >= numTurnKinds || in > LatestTurn || length <= 0 || length > LongestTurn {
		return Turn{}
	}
	return Turn{kind, uint16(in.Milliseconds()), uint16(length.Milliseconds())}
}

func (t Turn) check() error {
	in, length := time.Duration(t.InMs)*time.Millisecond, time.Duration(t.ForMs)*time.Millisecond
	if t != TurnIn(t.Kind, in, length) {
		return fmt.Errorf("a turn %s in %s for %s: a report has no room for it", t.Kind, in, length)
	}
	return nil
}

func (t Turn) flags() uint16 {
	begin, length := t.InMs/uint16(TurnBeginStep.Milliseconds()), t.ForMs/uint16(TurnLengthStep.Milliseconds())
	return uint16(t.Kind)<<turnKindBit | begin<<turnBeginBit | length<<turnLengthBit
}

// turnOf reads a turn. What is no turn as a whole is none.
func turnOf(flags uint16) Turn {
	return TurnIn(TurnKind(flags>>turnKindBit&turnKindMask),
		time.Duration(flags>>turnBeginBit&turnBeginMask)*TurnBeginStep, time.Duration(flags>>turnLengthBit&turnLengthMask)*TurnLengthStep)
}
