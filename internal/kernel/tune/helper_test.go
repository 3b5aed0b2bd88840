package tune

import (
	"testing"
)

// value finds a setting.
func (s *Socket) value(t *testing.T, name string) Value {
	t.Helper()
	for _, v := range s.Values {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("%s is not among %+v", name, s.Values)
	return Value{}
}
