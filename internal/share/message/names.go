package message

import (
	"fmt"
	"slices"
)

// indexOf returns the index of a name. It decodes the output of MarshalText.
func indexOf(names []string, text []byte, what string) (uint8, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%s %q: want one of %q", what, text, names)
	}
	return uint8(i), nil
}

// UnmarshalText decodes the name of a state.
func (s *State) UnmarshalText(text []byte) error {
	i, err := indexOf(stateNames[:], text, "state")
	*s = State(i)
	return err
}

// UnmarshalText decodes the name of a source.
func (s *Source) UnmarshalText(text []byte) error {
	i, err := indexOf(sourceNames[:], text, "source")
	*s = Source(i)
	return err
}

// UnmarshalText decodes the name of a kind.
func (k *ProbeKind) UnmarshalText(text []byte) error {
	i, err := indexOf(probeNames[:], text, "probe")
	*k = ProbeKind(i)
	return err
}
