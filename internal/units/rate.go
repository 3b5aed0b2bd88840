package units

// Rate is a bit rate in bit/s.
type Rate int64

const expectedRate = "a rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as 54 Mbit/s"

// ParseRate reads a rate such as 54 Mbit/s, 400Mbit, 1 Gbps or 20M.
func ParseRate(text string) (Rate, error) {
	v, err := rates.parse(text, expectedRate)
	return Rate(v), err
}

// String is the exact rate: 54 Mbit/s.
func (r Rate) String() string { return rates.print(int64(r)) }

// MarshalText writes String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the grammar of ParseRate.
func (r *Rate) UnmarshalText(text []byte) error { return set(r, string(text), ParseRate) }

// set stores a parsed value, and leaves the old one after an error.
func set[T any](to *T, text string, parse func(string) (T, error)) error {
	v, err := parse(text)
	if err == nil {
		*to = v
	}
	return err
}
