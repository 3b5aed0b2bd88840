package run

import (
	"os"
	"testing"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
)

func TestMain(m *testing.M) {
	ServeGuest()
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	if file := os.Getenv(childVariable); file != "" {
		child(file)
	}
	if lacks := os.Getenv(preflightVariable); lacks != "" {
		lackingMachine(lacks)
	}
	os.Exit(m.Run())
}

// small is an experiment of short runs.
const small = `
name: small
duration: 1500 ms
warmup: 500 ms
repeats: 2
terminals:
  sta: {profile: linux-today, count: 2, radio: {standard: n, phy_rate: 72.2 Mbit/s}}
servers:
  server: {profile: linux-today}
path: {rate: 100 Mbit/s, rtt: 4 ms}
flows:
  upload: {from: terminals, to: server, protocol: tcp}
  echo: {from: sta1, to: server, protocol: ping}
record: {tcp: terminals, radio: true, packets: [server]}
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  rtt: {quantity: ping_rtt}
  srtt: {quantity: srtt}
  cwnd: {quantity: cwnd}
  airtime: {quantity: airtime, take: sum}
claims:
  carries:
    says: it carries something
    holds: mean(total) > 1
`

// planOf is the plan of an experiment's text.
func planOf(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Read(t.Context(), "experiment.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
