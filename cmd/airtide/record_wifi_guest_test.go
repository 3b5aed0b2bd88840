//go:build guest

package main

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airtide/test/need"
)

// radioScript runs a simulated access point in a namespace of its own, and a station that sends TCP
// through the air while it is recorded. The station scans meanwhile, and is disconnected at the
// end. A simulated radio measures its own channel between two others that it scans for long: the
// second scan lets that time grow. The channel is recorded each second, so in between as well. The
// network's name has a sequence that would colour a terminal. The sender has a rate, since the
// guest emulates its processor and has only one. The scans have a bound: if the host is busy, iw
// sometimes reads its socket for ever behind a scan that has ended.
const radioScript = `set -e
ip netns add ap
iw phy phy0 set netns name ap
ip netns exec ap ip link set lo up
ip netns exec ap hostapd -B -f /tmp/hostapd.log /hostapd.conf >&2
ip netns exec ap ip address add 10.9.0.1/24 dev wlan0
ip link set lo up
ip link set wlan1 up
ip address add 10.9.0.2/24 dev wlan1
ssid=$(printf 'ce\033[31mll')
n=0
until iw dev wlan1 link | grep -q Connected; do
	iw dev wlan1 connect "$ssid" 2>/dev/null || true
	sleep 0.5
	n=$((n + 1))
	[ $n -lt 60 ] || { cat /tmp/hostapd.log >&2; exit 1; }
done
ip netns exec ap iperf3 -s -D >&2
n=0
until iperf3 -c 10.9.0.1 -n 1K >&2; do
	sleep 0.2
	n=$((n + 1))
	[ $n -lt 50 ]
done
airtide record --with radio -o /r.atr -- sh -c '
	iperf3 -c 10.9.0.1 -t 4 -b 10M &
	sleep 1
	timeout 10 iw dev wlan1 scan freq 2437 >/dev/null
	sleep 1.5
	timeout 10 iw dev wlan1 scan freq 2437 2462 passive >/dev/null
	wait
	iw dev wlan1 disconnect
	n=0
	until iw dev wlan1 link | grep -q Connected; do
		iw dev wlan1 connect "$1" || true
		sleep 0.5
		n=$((n + 1))
		[ $n -lt 40 ] || break
	done
' sh "$ssid" >&2
echo INFO
airtide info /r.atr
echo DIAGNOSE
airtide diagnose /r.atr
echo CSV
airtide export /r.atr --to csv --table radio -o -
`

// TestTheRadioIsRecordedBesideTCP records on simulated radios (mac80211_hwsim).
func TestTheRadioIsRecordedBesideTCP(t *testing.T) {
	need.Guest(t)
	config := strings.Replace(hostapdConfig, "ssid=cell", `ssid2=P"ce\e[31mll"`, 1)
	runScript := inGuest(t, wifiKernel(t),
		[]string{"ip", "iw", "hostapd", "iperf3", "cat", "grep", "sleep", "timeout"},
		map[string]string{"/hostapd.conf": config}, "mac80211_hwsim")
	out, said := runScript(radioScript)
	t.Logf("%s", said)
	shown, table, _ := strings.Cut(string(out), "CSV\n")
	t.Logf("%s", shown)
	if !strings.Contains(shown, "packets sent, 0 retries, 0 failed") {
		t.Errorf("the radio's counters are not summed up:\n%s", shown)
	}
	if strings.Contains(shown, "\x1b") || !strings.Contains(shown, "wlan1 in ce?[31mll at ") {
		t.Errorf("the network's name is not printed clean:\n%s", shown)
	}
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	if !strings.Contains(shown, "0 failed; channel busy 1") { // an eighth of the time
		t.Errorf("the channel's busy time is not summed up:\n%s", shown)
	}
	kinds := map[string]int{}
	var sent []int64
	for _, row := range rows[1:] {
		kind := row[column("kind")]
		kinds[kind]++
		if kind == "interface" || kind == "channel" || kind == "connect" {
			t.Logf("%q", row)
		}
		if kind == "station" && row[column("tx_bytes")] != "" {
			n, err := strconv.ParseInt(row[column("tx_bytes")], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, n)
		}
	}
	t.Logf("records: %v", kinds)
	for _, kind := range []string{
		"interface", "station", "tid", "channel", "scan_start", "scan_end", "disconnect", "connect",
	} {
		if kinds[kind] == 0 {
			t.Errorf("there is no record %s: %v", kind, kinds)
		}
	}
	if len(sent) < 30 || slices.Max(sent)-sent[0] < 1e6 { // the counters begin again with each connection
		t.Errorf("%d records of the station: %v", len(sent), sent)
	}
}
