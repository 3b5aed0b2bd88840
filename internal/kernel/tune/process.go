package tune

import (
	"context"
	"fmt"
	"slices"

	"airtide/internal/kernel/sockets/owner"
)

// stateListen is TCP_LISTEN (include/net/tcp_states.h).
const stateListen = 10

// chooseByProcess finds the sockets of the chosen processes, and the ports at which they listen.
func (p *programs) chooseByProcess(ctx context.Context, k *kernel, s *Selection) error {
	var there []socketsTuneRecord
	err := p.walk(ctx, k, socketsTuneModeTUNE_LIST, 0, s.NetNS, func(r *socketsTuneRecord) {
		there = append(there, *r)
	})
	if err != nil {
		return err
	}
	owners := owner.NewResolver()
	if err := owners.Refresh(ctx); err != nil {
		return fmt.Errorf("looking for the processes of sockets: %w", err)
	}
	for i := range there {
		r := &there[i]
		process, ok := owners.Lookup(r.Inode)
		if !ok || (len(s.PIDs) > 0 && !slices.Contains(s.PIDs, process.PID)) ||
			(len(s.Comms) > 0 && !slices.Contains(s.Comms, process.Comm)) {
			continue
		}
		if r.State == stateListen {
			key := socketsListening{NetnsCookie: r.NetnsCookie, Port: uint32(r.LocalPort)}
			if err := p.Maps["listening_ports"].Put(&key, uint8(1)); err != nil {
				return fmt.Errorf("picking the port %d: %w", r.LocalPort, err)
			}
			continue
		}
		if err := p.Maps["chosen"].Put(r.Cookie, uint8(1)); err != nil {
			return fmt.Errorf("picking a socket: %w", err)
		}
	}
	return nil
}
