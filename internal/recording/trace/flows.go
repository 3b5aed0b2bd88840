package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"unicode/utf8"

	"airtide/internal/tcp"
)

// flowsDecoder decodes the definitions of flows: one JSON object after the other. Objects as the
// writer makes them take no reflection; package encoding/json decodes all others. It keeps one copy
// of each text that many flows have.
type flowsDecoder struct {
	names map[string]string
}

// maxNames limits names. A file with more different ones has no flows in common.
const maxNames = 4096

// each calls do with each flow of a text.
func (d *flowsDecoder) each(text []byte, do func(*tcp.Flow) error) error {
	for {
		text = bytes.TrimLeft(text, " \t\r\n")
		if len(text) == 0 {
			return nil
		}
		var f tcp.Flow
		rest, ok := d.plain(text, &f)
		if !ok {
			f = tcp.Flow{}
			lines := json.NewDecoder(bytes.NewReader(text))
			if err := lines.Decode(&f); err != nil {
				return fmt.Errorf("malformed flow: %w", err)
			}
			rest = text[lines.InputOffset():]
		}
		if err := do(&f); err != nil {
			return err
		}
		text = rest
	}
}

// plain decodes the object at the beginning of a text, without white space in it, and returns what
// follows. ok is false for every object that the writer does not make.
func (d *flowsDecoder) plain(text []byte, f *tcp.Flow) (rest []byte, ok bool) {
	c := jsonCursor{b: text}
	for first := true; !c.bad; first = false {
		switch {
		case first && c.next('{'), !first && c.next(','):
		case !first && c.next('}'):
			return c.b, true
		default:
			return nil, false
		}
		key := c.text()
		if !c.next(':') {
			return nil, false
		}
		switch string(key) {
		case "flow":
			f.ID = tcp.FlowID(c.number(math.MaxUint32))
		case "local":
			f.Local = c.endpoint()
		case "remote":
			f.Remote = c.endpoint()
		case "netns":
			f.NetNS = uint32(c.number(math.MaxUint32))
		case "cgroup_id":
			f.Cgroup = c.number(math.MaxUint64)
		case "cgroup":
			f.CgroupPath = d.name(&c)
		case "pid":
			f.PID = uint32(c.number(math.MaxUint32))
		case "comm":
			f.Comm = d.name(&c)
		case "inode":
			f.Inode = c.number(math.MaxUint64)
		case "congestion_control":
			f.CongestionControl = d.name(&c)
		case "first_ns":
			f.FirstNs = c.signed()
		case "inherited":
			f.Inherited = c.word("true")
			c.bad = c.bad || !f.Inherited && !c.word("false")
		default:
			return nil, false
		}
	}
	return nil, false
}

// name reads a text and returns the copy that flows share.
func (d *flowsDecoder) name(c *jsonCursor) string {
	quoted := c.b
	text := c.text()
	if c.bad {
		return ""
	}
	if known, ok := d.names[string(text)]; ok {
		return known
	}
	key := string(text)
	name := key
	if c.escaped {
		quoted = quoted[:len(text)+len(`""`)]
		if err := json.Unmarshal(quoted, &name); err != nil {
			c.bad = true
			return ""
		}
	}
	if len(d.names) < maxNames && len(key) <= maxPath {
		d.names[key] = name
	}
	return name
}

// jsonCursor reads the parts of an object from the start of b. It turns bad, and stays bad, at
// anything else.
type jsonCursor struct {
	b       []byte
	bad     bool
	escaped bool // the last text has escapes or bytes that are not printable ASCII
}

// next skips a byte if it is the next one.
func (c *jsonCursor) next(want byte) bool {
	if c.bad || len(c.b) == 0 || c.b[0] != want {
		return false
	}
	c.b = c.b[1:]
	return true
}

// word skips a word if it is the next one.
func (c *jsonCursor) word(want string) bool {
	rest, ok := bytes.CutPrefix(c.b, []byte(want))
	if ok {
		c.b = rest
	}
	return ok
}

// text reads a text in quotes, with the escapes as they are.
func (c *jsonCursor) text() []byte {
	c.escaped = false
	if !c.next('"') {
		c.bad = true
		return nil
	}
	for i := 0; i < len(c.b); i++ {
		switch x := c.b[i]; {
		case x == '"':
			text := c.b[:i]
			c.b = c.b[i+1:]
			return text
		case x == '\\':
			c.escaped = true
			i++
		case x >= utf8.RuneSelf || x < 0x20:
			c.escaped = true
		}
	}
	c.bad = true
	return nil
}

// number reads a number that is at most limit.
func (c *jsonCursor) number(limit uint64) (n uint64) {
	i := 0
	for ; i < len(c.b) && c.b[i] >= '0' && c.b[i] <= '9'; i++ {
		digit := uint64(c.b[i] - '0')
		if n > (limit-digit)/10 || i > 0 && n == 0 { // it is larger, or begins with a zero
			c.bad = true
			return 0
		}
		n = 10*n + digit
	}
	c.bad = c.bad || i == 0
	c.b = c.b[i:]
	return n
}

func (c *jsonCursor) signed() int64 {
	if c.next('-') {
		return -int64(c.number(math.MaxInt64))
	}
	return int64(c.number(math.MaxInt64))
}

// endpoint reads an address and a port, which may be empty.
func (c *jsonCursor) endpoint() netip.AddrPort {
	text := c.text()
	if c.bad || c.escaped || len(text) == 0 {
		c.bad = c.bad || c.escaped
		return netip.AddrPort{}
	}
	ap, err := netip.ParseAddrPort(string(text))
	if err != nil {
		c.bad = true
	}
	return ap
}
