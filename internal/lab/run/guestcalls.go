package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/machine"
	"airtide/internal/observe/source"
	"airtide/internal/recording/record"
	"airtide/internal/vm"
)

// Functions of this package in a guest.
const (
	recordFunction = "lab.record"
	stopFunction   = "lab.stop"
	clockFunction  = "lab.clock"
)

// Files in a guest.
const (
	guestRecordingFile = "/run/tcp.atr"
	guestModule        = "/timewarp.ko"
)

// clockSetting is the setting of a guest's clock.
type clockSetting struct {
	Ratio      string `json:"ratio"`
	RTO        string `json:"rto"`
	ScaleCUBIC bool   `json:"scale_cubic"`
}

// ServeGuest serves the lab if this process is the first of a guest. It then does not return.
func ServeGuest() {
	if !vm.IsGuest() {
		return
	}
	var r guestTCP
	functions := map[string]vm.Function{recordFunction: r.start, stopFunction: r.stop, clockFunction: setClock}
	maps.Copy(functions, machine.GuestFunctions)
	vm.Main(functions)
}

// guestTCP records the TCP of the guest in which this process runs.
type guestTCP struct {
	cancel context.CancelFunc
	done   chan struct{}
	result *record.Result
	err    error
}

// start starts the recording and returns after its start.
func (r *guestTCP) start(input json.RawMessage) (any, error) {
	var tool string
	if err := json.Unmarshal(input, &tool); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.done = make(chan struct{})
	begun := make(chan struct{})
	go func() {
		defer close(r.done)
		r.result, r.err = record.Run(ctx, record.Options{
			Path: guestRecordingFile, Tool: tool, Observe: source.Options{Source: source.Auto}, Begun: func() {
				close(begun)
			},
		})
	}()
	select {
	case <-begun:
		return nil, nil
	case <-r.done:
		cancel()
		return nil, r.err
	}
}

// stop ends the recording and returns its result.
func (r *guestTCP) stop(json.RawMessage) (any, error) {
	if r.cancel == nil {
		return nil, errors.New("nothing is being recorded")
	}
	r.cancel()
	<-r.done
	return r.result, r.err
}

// setClock loads the module and sets the ratio of the clock. It returns the parts of the kernel
// that cannot follow the clock.
func setClock(input json.RawMessage) (any, error) {
	var s clockSetting
	if err := json.Unmarshal(input, &s); err != nil {
		return nil, err
	}
	ratio, err := timewarp.ParseRatio(s.Ratio)
	if err != nil {
		return nil, err
	}
	rto, err := timewarp.ParseRTO(s.RTO)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(guestModule); err != nil {
		return nil, fmt.Errorf("opening the kernel module of the virtual machine: %w", err)
	}
	k := timewarp.Running()
	if _, err := k.Load(guestModule); err != nil {
		return nil, err
	}
	changed, err := k.Set(ratio, timewarp.TCP{RTO: rto, ScaledCubic: s.ScaleCUBIC})
	if err != nil {
		return nil, err
	}
	return changed.Lacks, nil
}
