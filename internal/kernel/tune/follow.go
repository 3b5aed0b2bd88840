package tune

import (
	"context"
	"net/netip"
	"time"
)

// follow restores the settings that the kernel changes by itself: window clamps, which move when
// the kernel learns the memory size of segments, and the routes of new peers.
func (a *Applied) follow() {
	clamp := a.session.Settings.WindowClampBytes != 0
	routes := a.session.Settings.rtoMinByRoute()
	if !clamp && !routes {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.followed = make(chan struct{})
	go func() {
		defer close(a.followed)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followEvery):
			}
			// A failure is repeated at the next interval and shown by Report.
			_ = a.restoreMoved(ctx, clamp, routes)
		}
	}()
}

func (a *Applied) restoreMoved(ctx context.Context, clamp, routes bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	if clamp {
		if err := a.walk(ctx, socketsTuneModeTUNE_HOLD, nil); err != nil {
			return err
		}
	}
	if !routes {
		return nil
	}
	d, s, err := openSession(ctx, a.options.BPFFS, a.ID)
	if err != nil {
		return err // it may be undone by somebody
	}
	defer d.close()
	a.session = s
	return a.setRoutes(ctx, d)
}

// walk goes through the sockets of this tune.
func (a *Applied) walk(ctx context.Context, mode socketsTuneMode, f func(*socketsTuneRecord)) error {
	return a.programs.walk(ctx, a.kernel, mode, a.session.number(), a.session.Selection.NetNS, f)
}

// setRoutes gives each peer of a changed socket a route with the minimum RTO if the peer's route
// allows it.
func (a *Applied) setRoutes(ctx context.Context, d *sessionStore) error {
	s := a.session
	if !s.Settings.rtoMinByRoute() {
		return nil
	}
	type peer struct {
		netns uint32
		to    netip.Addr
	}
	peers := map[peer]bool{}
	err := a.walk(ctx, socketsTuneModeTUNE_READ, func(r *socketsTuneRecord) {
		_, remote := endpoints(r)
		peers[peer{r.Netns, remote.Addr().Unmap()}] = true
	})
	if err != nil {
		return err
	}
	for _, r := range s.Routes {
		if to, err := netip.ParseAddr(r.To); err == nil {
			delete(peers, peer{r.NetNS, to})
		}
	}
	ms := int(wholeMilliseconds(s.Settings.MinRTOUs))
	for p := range peers {
		key := routeKey(p.netns, p.to.String())
		if a.errors[key] != "" {
			continue // told once, and not tried again
		}
		err := inNetNS(p.netns, func() error {
			return setRoute(p.to, ms, func(oldMs int) error {
				s.Routes = append(s.Routes, route{NetNS: p.netns, To: p.to.String(), MinRTOMs: ms, OldMs: oldMs})
				return d.write(s)
			})
		})
		if err != nil {
			a.errors[key] = err.Error()
		}
	}
	return nil
}
