package tune

import (
	"fmt"
	"io"
	"strings"

	"airtide/internal/units"
)

// mostNamed is the number of failures that a text names one by one.
const mostNamed = 20

// WriteText writes a summary of the report and the failed settings.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	c := r.Counts
	fmt.Fprintf(&b, "tune %s: %s on %s\n", r.ID, r.Settings, r.Selection.String())
	fmt.Fprintf(&b, "  %s matched, %d of them new: %d changed and read back, %d failed",
		units.Count(c.Matched, "socket"), c.New, c.Changed, c.Failed)
	for _, more := range []struct {
		n    int
		text string
	}{
		{c.Connecting, "connecting"},
		{c.Gone, "gone" + c.closed()},
		{c.NoRoom, "without room to remember them, left alone"},
	} {
		if more.n > 0 {
			fmt.Fprintf(&b, ", %d %s", more.n, more.text)
		}
	}
	b.WriteString("\n")
	if r.Settings.InitialRTOUs != 0 {
		fmt.Fprintf(&b, "  %s given the initial RTO\n", units.Count(c.Handshakes, "handshake"))
	}
	if c.Held > 0 {
		fmt.Fprintf(&b, "  window clamps that the kernel had moved were set anew %d times\n", c.Held)
	}
	r.writeBounds(&b)
	for _, o := range r.Routes {
		switch {
		case o.Gone:
			fmt.Fprintf(&b, "  route to %s: %s\n", o.To, o.Error)
		case o.OK:
			fmt.Fprintf(&b, "  route to %s: rto_min %s, for all sockets of network namespace %d that speak to it\n",
				o.To, microseconds(o.MinRTOUs), o.NetNS)
		default:
			fmt.Fprintf(&b, "  failed: %s (network namespace %d)\n", o.Error, o.NetNS)
		}
	}
	for _, s := range r.Sysctls {
		if s.Gone {
			fmt.Fprintf(&b, "  %s: %s\n", s.Name, goneText(s.NetNS))
			continue
		}
		fmt.Fprintf(&b, "  %s is %s in network namespace %d (before: %s), for its new sockets\n", s.Name, s.Now,
			s.NetNS, s.Before)
	}
	r.writeFailures(&b)
	_, err := io.WriteString(w, units.PrintableText(b.String(), false))
	return err
}

// closed describes the sockets that were read back before they closed; it is empty if none was.
func (c *Counts) closed() string {
	if c.GoneChanged+c.GoneFailed == 0 {
		return ""
	}
	text := fmt.Sprintf(" (%d changed before they closed, %d failed", c.GoneChanged, c.GoneFailed)
	switch unread := c.Gone - c.GoneChanged - c.GoneFailed; {
	case unread == 1:
		text += ", 1 closed before it was read back"
	case unread > 1:
		text += fmt.Sprintf(", %d closed before they were read back", unread)
	}
	return text + ")"
}

// writeBounds names the way in which windows were bounded, because TCP_BPF_SNDCWND_CLAMP overwrites
// ssthresh.
func (r *Report) writeBounds(b *strings.Builder) {
	by := map[string]int{}
	for i := range r.Sockets {
		for _, v := range r.Sockets[i].Values {
			if v.Name == "cwnd_max_packets" {
				by[v.By]++
			}
		}
	}
	if n := by[byBounds]; n > 0 {
		fmt.Fprintf(b, "  upper bound of the window: %s by %s, which keeps ssthresh\n",
			units.Count(n, "socket"), byBounds)
	}
	if n := by[byOption]; n > 0 {
		fmt.Fprintf(b, "  upper bound of the window: %s by the socket option, which overwrites ssthresh\n",
			units.Count(n, "socket"))
	}
}

func (r *Report) writeFailures(b *strings.Builder) {
	named := 0
	for i := range r.Sockets {
		s := &r.Sockets[i]
		for _, v := range s.Values {
			if v.OK {
				continue
			}
			named++
			if named <= mostNamed {
				fmt.Fprintf(b, "  failed: %s > %s%s: %s is %v, not %v: %s\n", s.Local, s.Remote, s.process(), v.Name,
					v.Now, v.Want, v.Error)
			}
		}
	}
	if named > mostNamed {
		fmt.Fprintf(b, "  and %d more (--json lists all)\n", named-mostNamed)
	}
}

func (s *Socket) process() string {
	if s.PID == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s %d)", units.Printable(s.Comm), s.PID)
}

// Failed reports whether any setting differs from the wanted value.
func (r *Report) Failed() bool {
	for _, o := range r.Routes {
		if !o.OK && !o.Gone {
			return true
		}
	}
	for _, s := range r.Sysctls {
		if !s.OK && !s.Gone {
			return true
		}
	}
	return r.Counts.Failed+r.Counts.NoRoom > 0
}

// State describes how long the tune stays in force.
func (r *Report) State() string {
	switch {
	case r.Keep:
		return "kept until airtide tune undo " + r.ID
	case r.Running:
		return fmt.Sprintf("until process %d ends, or airtide tune undo %s", r.PID, r.ID)
	}
	return fmt.Sprintf("left by process %d, which was killed: airtide tune undo or the next tune restores all", r.PID)
}

// WriteText prints the undone changes.
func (u *Undone) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "tune %s is undone on %s\n", u.ID, units.Count(u.Sockets, "open socket"))
	if err == nil && u.FixedBuffers > 0 {
		_, err = fmt.Fprintf(w, "  sockets that no process holds, with fixed buffers until they close: %d\n",
			u.FixedBuffers)
	}
	return err
}
