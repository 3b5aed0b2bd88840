package workload

import (
	"fmt"
	"math"

	"airtide/internal/lab/plan"
)

// FirstPort is below the ports that Linux assigns to clients (net.ipv4.ip_local_port_range starts
// at 32768).
const FirstPort = 20001

// Ports assigns each flow a port at its server, counting up from first. A ping flow has port 0.
func Ports(first uint16, flows []plan.FlowSetup) ([]uint16, error) {
	ports := make([]uint16, len(flows))
	next := int(first)
	for i, f := range flows {
		if f.Flow.Protocol == plan.Ping {
			continue
		}
		if next < 1 || next > math.MaxUint16 {
			return nil, fmt.Errorf("there are no ports left for flow %s: %d flows do not fit above port %d", f.Name,
				len(flows), first)
		}
		ports[i] = uint16(next)
		next++
	}
	return ports, nil
}
