package main

import "strings"

// cellFile describes the cell of the script.
const cellFile = "/cell.yaml"

// prepareScript gives the guest its shell's commands and loopback.
const prepareScript = busyboxPath + " --install -s /bin && ip link set lo up"

// carriedText matches the output of a complete transfer.
const carriedText = "^carried 500000 bytes$"

// transferScript carries bytes over loopback, from port 7000 (1B58).
const transferScript = `#!/bin/sh
set -e
mkdir -p /tmp/served
dd if=/dev/zero of=/tmp/served/file bs=1000 count=500 2>/dev/null
httpd -f -p 127.0.0.1:7000 -h /tmp/served &
until grep -q ':1B58 00000000:0000 0A' /proc/net/tcp; do usleep 20000; done
wget -q -O /tmp/got http://127.0.0.1:7000/file
kill $!
echo "carried $(wc -c </tmp/got) bytes"
`

// cellScript carries bytes from a terminal of a cell to its server, and pings from the one whose
// device refuses packets too.
const cellScript = `set -e
server() { nsenter --net=/run/netns/$AIRTIDE_NS_server "$@"; }
phone() { nsenter --net=/run/netns/$AIRTIDE_NS_phone "$@"; }
shy() { nsenter --net=/run/netns/$AIRTIDE_NS_shy "$@"; }
mkdir -p /tmp/served
dd if=/dev/zero of=/tmp/served/file bs=1000 count=500 2>/dev/null
nsenter --net=/run/netns/$AIRTIDE_NS_phone httpd -f -p 0.0.0.0:7000 -h /tmp/served &
until phone grep -q ':1B58 00000000:0000 0A' /proc/net/tcp; do usleep 20000; done
echo "phone: $(phone ping -c 3 $AIRTIDE_IP_server | grep -o '[0-9]* packets received')"
echo "shy: $(shy ping -c 3 $AIRTIDE_IP_server | grep -o '[0-9]* packets received')"
server wget -q -O /tmp/got http://$AIRTIDE_IP_phone:7000/file
kill $!
echo "carried $(wc -c </tmp/got) bytes"
airtide cell status --once --interval 200ms
`

// cellConfig has a terminal whose device refuses packets beyond its queue.
const cellConfig = `name: guest
terminals:
  phone: {radio: {standard: ac, phy_rate: 433.3 Mbit/s}}
  shy: {radio: {standard: n, phy_rate: 65 Mbit/s, refuses: true, queue: 50 packets}}
servers: {server: {}}
path: {rtt: 20 ms}
`

// loadedScript has a transfer use a congestion control, as a user would, and unloads it.
var loadedScript = strings.ReplaceAll(`set -e
default=/proc/sys/net/ipv4/tcp_congestion_control
before=$(cat $default)
airtide cc load cubic_rtt --pin
airtide cc list
echo cubic_rtt >$default
airtide record -q -f -o /tmp/cc.atr -- TRANSFER
airtide info /tmp/cc.atr | grep cubic_rtt
echo $before >$default
airtide cc unload cubic_rtt
echo "afterwards $(grep -c cubic_rtt /proc/sys/net/ipv4/tcp_available_congestion_control)"
`, "TRANSFER", transfer)

// observedScript has an agent of share that only observes say how it is doing, and ends it.
const observedScript = `set -e
airtide share key -o /tmp/observed.key
airtide share run --key /tmp/observed.key --interface lo --policy observe --json >/tmp/observed &
agent=$!
until [ -s /tmp/observed ] || ! kill -0 $agent 2>/dev/null; do usleep 100000; done
head -n 1 /tmp/observed
kill $agent 2>/dev/null || true
ended=0
wait $agent || ended=$?
echo "it ended with $ended"
`

// warpedScript goes through timewarp's verbs. A command's status is passed on.
const warpedScript = `set -e
airtide timewarp load
airtide timewarp set 10
airtide timewarp status
echo "ratio now $(cat /sys/module/timewarp/parameters/ratio)"
airtide timewarp unload
airtide timewarp run -N 5 --rto bounds -- sh -c 'sleep 5; exit 7' || echo "run ends with $?"
airtide timewarp status
[ -d /sys/module/timewarp ] || echo "afterwards not loaded"
`
