package workload

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// everyProtocol is a flow of each kind of program, all long.
func everyProtocol() []plan.FlowSetup {
	const stop = time.Minute
	return []plan.FlowSetup{
		setup("bulk", stop, plan.Flow{Protocol: plan.TCP}),
		setup("datagrams", stop, plan.Flow{Protocol: plan.UDP, Rate: 1e6, Length: 1000}),
		setup("put", stop, plan.Flow{Protocol: plan.HTTPPut}),
		setup("get", stop, plan.Flow{Protocol: plan.HTTPGet}),
		setup("short", stop, plan.Flow{Protocol: plan.Transfers, Size: 1e6, Parallel: 2}),
		setup("surf", stop, plan.Flow{Protocol: plan.Web, Size: 30e3, Interval: plan.Duration(50e6)}),
		setup("echo", stop, plan.Flow{Protocol: plan.Ping, Interval: plan.Duration(100e6), Length: 56}),
	}
}

const childVariable = "AIRTIDE_TEST_RUNS_BETWEEN"

// TestMain is also the process that TestNothingIsLeftWhenThisProcessIsKilled kills.
func TestMain(m *testing.M) {
	names := strings.Fields(os.Getenv(childVariable))
	if len(names) == 0 {
		os.Exit(m.Run())
	}
	s, err := Prepare(context.Background(), everyProtocol(), machine.Set{
		machine.NewNamespace("phone", names[0], netip.MustParseAddr("10.77.0.1")),
		machine.NewNamespace("server", names[1], netip.MustParseAddr("10.77.0.2")),
	}, Options{Folder: names[2]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Run(context.Background(), time.Now())
}
