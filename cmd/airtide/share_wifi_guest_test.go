//go:build guest

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/vm"
	"airtide/test/need"
)

// wifiScript runs a simulated access point and a station in one kernel, prints the reports of an
// agent, then removes the access point. The station's rates are printed as iw shows them, for 10 s
// and until the agent has one: an emulated processor starts it slowly.
const wifiScript = `set -e
hostapd -B -f /tmp/hostapd.log /hostapd.conf >&2
ip link set lo up
ip link set wlan1 up
ip address add 10.9.0.2/24 dev wlan1
n=0
until iw dev wlan1 link | grep -q Connected; do
	iw dev wlan1 connect cell 2>/dev/null || true
	sleep 0.5
	n=$((n + 1))
	[ $n -lt 60 ] || { cat /tmp/hostapd.log >&2; exit 1; }
done
airtide share key -o /cell.key >&2
airtide share run --key /cell.key --interface wlan1 --policy observe --json >/reports &
agent=$!
n=0
until [ $n -ge 20 ] && grep -q '"phy_bps":[1-9]' /reports; do
	iw dev wlan1 link | grep 'tx bitrate' || true
	sleep 0.5
	n=$((n + 1))
	[ $n -lt 200 ]
done
before=$(grep -c . /reports)
iw dev wlan1 disconnect
n=0
until tail -n +$((before + 2)) /reports | grep -vq '"phy_bps":[1-9]'; do
	sleep 0.5
	n=$((n + 1))
	[ $n -lt 100 ]
done
kill $agent
wait $agent
head -n $before /reports
echo disconnected
tail -n +$((before + 1)) /reports
`

const hostapdConfig = "interface=wlan0\ndriver=nl80211\nssid=cell\nhw_mode=g\nchannel=1\nieee80211n=1\nwmm_enabled=1\n"

// TestAnAgentHasItsPHYRateFromNL80211 compares an agent's report with iw on simulated radios
// (mac80211_hwsim), which Debian's kernels have.
func TestAnAgentHasItsPHYRateFromNL80211(t *testing.T) {
	t.Parallel()
	need.Guest(t)
	runScript := inGuest(t, wifiKernel(t), []string{"ip", "iw", "hostapd", "cat", "grep", "head", "sleep", "tail"},
		map[string]string{"/hostapd.conf": hostapdConfig}, "mac80211_hwsim")
	out, _ := runScript(wifiScript)
	shown, connected, afterwards := wifiRates(t, out)
	if len(shown) == 0 || len(connected) == 0 || len(afterwards) == 0 {
		t.Fatalf("iw showed %v, the agent said %v and %v without an access point, in\n%s", shown, connected, afterwards,
			out)
	}
	t.Logf("iw showed %v, the agent said %v, and %v without an access point", shown, connected, afterwards)
	if last := connected[len(connected)-1]; !slices.Contains(shown, last) {
		t.Errorf("the agent has %g bit/s, iw showed %v", last, shown)
	}
	if last := afterwards[len(afterwards)-1]; last != 0 {
		t.Errorf("without an access point the agent has %g bit/s", last)
	}
}

// wifiKernel is Debian's 6.1 with the drivers of radios, which the kernel of the other guests, for
// clouds, lacks.
func wifiKernel(t *testing.T) vm.Kernel {
	t.Helper()
	k, err := vm.Fetch(t.Context(), "6.1")
	if err != nil {
		t.Fatal(err)
	}
	k.Release = strings.Replace(k.Release, "-cloud", "", 1)
	folder, err := vm.FetchPackage(t.Context(), "6.1", runtime.GOARCH, "linux-image-"+k.Release)
	if err != nil {
		t.Fatal(err)
	}
	k.Image = filepath.Join(folder, "boot/vmlinuz-"+k.Release)
	k.Modules = filepath.Join(folder, "lib/modules", k.Release)
	return k
}

var bitrate = regexp.MustCompile(`tx bitrate: ([\d.]+) MBit/s`)

// wifiRates returns the rates from iw and from the agent, in bit/s, before and after the station
// was disconnected.
func wifiRates(t *testing.T, out []byte) (shown, connected, afterwards []float64) {
	t.Helper()
	before := &connected
	for line := range bytes.Lines(out) {
		if m := bitrate.FindSubmatch(line); m != nil {
			mbps, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, mbps*1e6)
			continue
		}
		if bytes.HasPrefix(line, []byte("disconnected")) {
			before = &afterwards
			continue
		}
		var status struct {
			Own struct {
				PHYBps float64 `json:"phy_bps"`
			} `json:"own"`
		}
		if err := json.Unmarshal(line, &status); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%v in %s", err, line)
		}
		*before = append(*before, status.Own.PHYBps)
	}
	return shown, connected, afterwards
}
