package timewarp

import (
	"errors"
	"os"
	"strings"
	"testing"

	"airtide/internal/sys/file"
)

// bursts are the settings of the fake, "-" for one that the kernel lacks.
func (f *fake) bursts() string {
	var all []string
	for _, name := range []string{"tcp_pacing_ss_ratio", "tcp_pacing_ca_ratio", "tcp_tso_rtt_log"} {
		text, err := file.Line(f.ipv4(name))
		if errors.Is(err, os.ErrNotExist) {
			text = "-"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// writePacing sets the kernel's own pacing ratios.
func (f *fake) writePacing() {
	f.write(f.ipv4("tcp_pacing_ss_ratio"), "200\n")
	f.write(f.ipv4("tcp_pacing_ca_ratio"), "120\n")
}

func TestBurstsFollowTheRatio(t *testing.T) {
	for name, log := range map[string]string{"": "9", "before Linux 5.18": "-"} {
		t.Run(name, func(t *testing.T) {
			f := newLoaded(t)
			f.writePacing()
			if log != "-" {
				f.write(f.ipv4("tcp_tso_rtt_log"), log+"\n")
			}
			for _, c := range []struct {
				ratio Ratio
				rto   RTO
				want  string
			}{
				{Ratio{4, 1}, RTOBounds, "800 480 11"},
				{Ratio{10, 1}, RTOBounds, "1000 1000 12"}, // the kernel's most
				{Ratio{1, 2}, RTOBounds, "100 60 8"},
				{Ratio{10, 1}, RTONone, "200 120 9"},
				{Ratio{10, 1}, RTOPaper, "200 120 9"},
				{Ratio{2, 1}, RTOBounds, "400 240 10"},
				{One, RTOBounds, "200 120 9"},
				{Ratio{1000, 1}, RTOBounds, "1000 1000 19"},
			} {
				if _, err := f.Set(c.ratio, TCP{RTO: c.rto}); err != nil {
					t.Fatal(err)
				}
				if log == "-" {
					c.want = c.want[:strings.LastIndex(c.want, " ")] + " -"
				}
				if got := f.bursts(); got != c.want {
					t.Errorf("ratio %s, rto %s: %s, want %s", c.ratio, c.rto, got, c.want)
				}
			}
			if _, err := f.Unload(); err != nil {
				t.Fatal(err)
			}
			if got := f.bursts(); got != "200 120 "+log {
				t.Errorf("%s are left", got)
			}
			f.mustBeGone()
		})
	}
}

// A value that another program set meanwhile stays, and the changes of a killed process are undone.
func TestBurstsAreTakenBack(t *testing.T) {
	f := newFake(t)
	f.writePacing()
	if err := f.writeNothing(); err != nil {
		t.Fatal(err)
	}
	leave(t, f)
	f.write(f.ipv4("tcp_pacing_ca_ratio"), "300\n")
	if _, err := f.undoLeft(); err != nil {
		t.Fatal(err)
	}
	if got := f.bursts(); got != "200 300 -" {
		t.Errorf("%s are left", got)
	}
}

// fq paces by the rate that bursts follow.
func TestBurstsAreLeftWhereFQPaces(t *testing.T) {
	f := newLoaded(t)
	f.writePacing()
	f.write(f.proc+"/sys/net/core/default_qdisc", "fq\n")
	c, err := f.Set(Ratio{10, 1}, TCP{})
	if err != nil || len(c.Lacks) != 1 || !strings.Contains(c.Lacks[0], "fq") || f.bursts() != "200 120 -" {
		t.Errorf("%+v, %v, %s", c, err, f.bursts())
	}
}
