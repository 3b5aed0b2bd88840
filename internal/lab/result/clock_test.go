package result

import (
	"testing"
	"time"
)

func TestTheClockOfARecording(t *testing.T) {
	own := File{Name: "tcp.atr"}.ClockFrom(5e9)
	if own.At(2*time.Second) != 7e9 || own.Since(6e9) != time.Second {
		t.Errorf("that of this machine is %+v", own)
	}
	fast := File{Name: "tcp-phone.atr", ZeroNs: 100e9, Clock: 10}.ClockFrom(5e9)
	if fast.At(2*time.Second) != 120e9 || fast.Since(110e9) != time.Second {
		t.Errorf("that of a virtual machine is %+v", fast)
	}
}
