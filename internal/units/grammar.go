package units

// Grammar describes the texts of one quantity.
type Grammar struct {
	Quantity string
	Units    []string
	Examples string
}

// Grammars describes the quantities that flags, experiment files and arguments take.
func Grammars() []Grammar {
	return []Grammar{
		{"rate", rates.list(), "54 Mbit/s, 400Mbit, 1 Gbps, 20M"},
		{"size", sizes.list(), "64 kB, 2 MiB"},
		{"duration", times.list(), "20 ms, 1.5 s, 1m30s"},
		{"share", []string{"%"}, "0.2 %, 0.002"},
		{"packets", []string{"packets"}, "1000 packets"},
	}
}

// list returns the names of the units in their order.
func (t *table) list() []string {
	names := make([]string, len(t.units))
	for i, u := range t.units {
		names[i] = u.name
	}
	return names
}
