package workload

import (
	"fmt"
	"math"

	"airtide/internal/lab/plan"
)

// FirstPort is below the ports that Linux gives to clients (net.ipv4.ip_local_port_range: from
// 32768 on).
const FirstPort = 20001

// Ports assigns each flow its own port at its server, from first upwards. A flow of ping has port
// 0.
func Ports(first uint16, flows []plan.FlowSetup) ([]uint16, error) {
	ports := make([]uint16, len(flows))
	next := int(first)
	for i, f := range flows {
		if f.Flow.Protocol == plan.Ping {
			continue
		}
		if next < 1 || next > math.MaxUint16 {
			return nil, fmt.Errorf(
				"there are no ports left for flow %s: %d flows do not fit above port %d", f.Name, len(flows), first,
			)
		}
		ports[i] = uint16(next)
		next++
	}
	return ports, nil
}
