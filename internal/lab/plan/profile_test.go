package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"airtide/internal/lab/document"
)

func TestEveryProfileIsReadAndSaysItsSources(t *testing.T) {
	want := []string{
		"android-x86-2010", "beagleboard", "linux-today", "nexus7-2012", "nexus7-2013", "pixel4", "pixel5",
		"ubuntu-9.10", "windows7",
	}
	if got := ProfileNames(); !slices.Equal(got, want) {
		t.Fatalf("the profiles are %v", got)
	}
	for _, name := range want {
		p, err := readProfile(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if len(p.Sources) == 0 || p.Title == "" || p.Congestion == "" {
			t.Errorf("%s says not where its values come from, or has no congestion control", name)
		}
		radio := ""
		if p.Radio.Standard == "" && p.Link != Ethernet {
			radio = ", radio: {standard: n, phy_rate: 65 Mbit/s}"
		}
		text := strings.Replace(minimal, "{link: ethernet}", "{profile: "+name+radio+"}", 1)
		if _, err := Read(t.Context(), name, []byte(text)); err != nil {
			t.Errorf("%v", err)
		}
	}
	// Miki et al. 2010, table 2.
	for name, most := range map[string]Size{"android-x86-2010": 110208, "ubuntu-9.10": 1966080} {
		if p, _ := readProfile(name); p.ReceiveBuffer != (Buffer{4095, 87380, most}) {
			t.Errorf("%s receives into %+v", name, p.ReceiveBuffer)
		}
	}
	if _, err := readProfile("pixle4"); err == nil || !strings.Contains(err.Error(), "did you mean pixel4?") {
		t.Errorf("a wrong name gave %v", err)
	}
}

func TestWhatTheFileSaysComesBeforeProfileAndCell(t *testing.T) {
	text := `name: layers
terminals:
  plain: {profile: linux-today}
  phone: {profile: pixel4, radio: {phy_rate: 433.3 Mbit/s, streams: 1}}
  own: {radio: {standard: n, phy_rate: 65 Mbit/s}}
  cabled: {profile: pixel4, link: ethernet}
servers:
  server: {profile: pixel5, congestion: reno}
cell:
  radio: {standard: ac, phy_rate: 390 Mbit/s, frame_errors: 1 %}
flows:
  f: {from: terminals, to: server, protocol: tcp}
`
	p, err := Read(t.Context(), "layers.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := p.Points[0].Setup
	for i, want := range []struct {
		rate   int64
		errors Share
	}{{390e6, 0.01}, {433333333, 0}, {65e6, 0}} {
		radio := s.Terminals[i].Radio
		if radio.PHY[0].PHY.RateBps != want.rate || radio.FrameErrors != want.errors {
			t.Errorf("%s sends at %d bit/s with errors of %s, expected %+v", s.Terminals[i].Name,
				radio.PHY[0].PHY.RateBps, radio.FrameErrors, want)
		}
	}
	if cabled := s.Terminals[3]; cabled.Link != Ethernet || cabled.Radio.PHY != nil ||
		cabled.Stack.ReceiveBuffer.Max != 2097152 {
		t.Errorf("the phone on a cable is %+v", cabled)
	}
	if server := s.Servers[0].Stack; server.Congestion != "reno" || server.ReceiveBuffer.Max != 2097152 {
		t.Errorf("the server has %+v", server)
	}

	// A problem of a profile is placed in the profile.
	_, err = Read(t.Context(), "layers.yaml",
		[]byte(strings.Replace(text, "{phy_rate: 433.3 Mbit/s, streams: 1}", "{standard: n}", 1)))
	if err == nil || !strings.HasPrefix(err.Error(), "terminals/pixel4.yaml:") ||
		!strings.Contains(err.Error(), "terminals.phone.radio.phy_rate") {
		t.Errorf("a standard without the profile's rate gave %v", err)
	}
}

// profileFile is a file of the terminals folder: the values of a device and their sources.
type profileFile struct {
	Title   string   `json:"title" jsonschema:"The device and its system."`
	Sources []string `json:"sources" jsonschema:"Where the values come from."`
	Terminal
}

// readProfile returns the profile with a name.
func readProfile(name string) (profileFile, error) {
	names := ProfileNames()
	trees, _ := profiles()
	tree, ok := trees[name]
	if !ok {
		return profileFile{}, fmt.Errorf("no profile %q, expected %s", name, document.OneOf(name, names))
	}
	var p profileFile
	var problems Problems
	document.Decode(tree, "", &p, &problems)
	return p, problems.Err()
}
