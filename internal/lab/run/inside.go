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
	"airtide/internal/observe/monitor"
	"airtide/internal/recording/record"
	"airtide/internal/vm"
)

// Functions of this package in a virtual machine, beside package machine's.
const (
	recordFunction = "lab.record"
	stopFunction   = "lab.stop"
	warpFunction   = "lab.warp"
)

// Where things are in a virtual machine.
const (
	guestRecording = "/run/tcp.atr"
	guestModule    = "/timewarp.ko"
)

// warp says how a virtual machine's clock is to run.
type warp struct {
	Ratio      string `json:"ratio"`
	RTO        string `json:"rto"`
	ScaleCUBIC bool   `json:"scale_cubic"`
}

// GuestFunctions are what a virtual machine of the lab can do, for vm.Main.
func GuestFunctions() map[string]vm.Function {
	var r guestRecorder
	functions := map[string]vm.Function{recordFunction: r.start, stopFunction: r.stop, warpFunction: warpTime}
	maps.Copy(functions, machine.GuestFunctions)
	return functions
}

// guestRecorder records a virtual machine's TCP, inside it.
type guestRecorder struct {
	cancel context.CancelFunc
	done   chan struct{}
	result *record.Result
	err    error
}

// start returns when all is recorded from then on.
func (r *guestRecorder) start(input json.RawMessage) (any, error) {
	var tool string
	if err := json.Unmarshal(input, &tool); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	begun := make(chan struct{})
	go func() {
		defer close(r.done)
		r.result, r.err = record.Run(ctx, record.Options{
			Path: guestRecording, Tool: tool, Monitor: monitor.Options{Source: monitor.Auto}, Begun: func() { close(begun) },
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

// stop ends the recording and says what it has become.
func (r *guestRecorder) stop(json.RawMessage) (any, error) {
	if r.cancel == nil {
		return nil, errors.New("nothing is being recorded")
	}
	r.cancel()
	<-r.done
	return r.result, r.err
}

// warpTime loads the module and sets the ratio, and says what the kernel lacks to follow it.
func warpTime(input json.RawMessage) (any, error) {
	var w warp
	if err := json.Unmarshal(input, &w); err != nil {
		return nil, err
	}
	ratio, err := timewarp.ParseRatio(w.Ratio)
	if err != nil {
		return nil, err
	}
	rto, err := timewarp.ParseRTO(w.RTO)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(guestModule); err != nil {
		return nil, fmt.Errorf("the virtual machine has no module: %w", err)
	}
	k := timewarp.Running()
	if _, err := k.Load(guestModule); err != nil {
		return nil, err
	}
	changed, err := k.Set(ratio, timewarp.TCP{RTO: rto, ScaledCubic: w.ScaleCUBIC})
	if err != nil {
		return nil, err
	}
	return changed.Lacks, nil
}
