package congestion

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
)

// question is one question to the arithmetic of bpf/congestion/arithmetic.h, bpf/congestion/cubic.h
// and bpf/congestion/compound.h.
type question = arithmeticCcCase

// The ranges for which the headers state their error bounds.
const (
	minRTT, maxRTT = 100, 4_000_000    // us
	minRef, maxRef = 1_000, 10_000_000 // us
	maxPackets     = 1_000_000         // greatest window
	maxTicks       = 12 * 3600 * 1024  // longest epoch
	maxJiffies     = 12 * 3600 * 1000  // longest epoch, at 1000 a second
	cubicC         = 410. / 1024       // packets/s^3
	windowMax      = 1 << 30           // windows saturate here
	tick           = 1. / 1024         // s
	samples        = 8 * batch         // per property
	batch          = 1024              // cases that the BPF program answers at once
)

// ask answers by the BPF program in the kernel and by the same headers compiled for the host, which
// must agree.
func ask(t *testing.T, questions []question) []question {
	t.Helper()
	inKernel := askKernel(t, questions)
	onHost := askHost(t, questions)
	for i, q := range questions {
		if inKernel[i].Answer != onHost[i].Answer {
			t.Fatalf("%+v: the BPF program answers %d, the host's %d", q, inKernel[i].Answer, onHost[i].Answer)
		}
	}
	return inKernel
}

func askKernel(t *testing.T, questions []question) []question {
	t.Helper()
	var o arithmeticObjects
	if err := loadArithmeticObjects(&o, nil); err != nil {
		t.Fatalf("loading the arithmetic's program: %v", err)
	}
	defer o.Close()
	keys := make([]uint32, batch)
	for i := range keys {
		keys[i] = uint32(i)
	}
	answers := make([]question, 0, len(questions))
	for at := 0; at < len(questions); at += batch {
		cases := make([]question, batch)
		n := copy(cases, questions[at:])
		if _, err := o.Cases.BatchUpdate(keys, cases, nil); err != nil {
			t.Fatalf("asking: %v", err)
		}
		if err := o.Asked.Set(uint32(n)); err != nil {
			t.Fatalf("asking: %v", err)
		}
		if r, err := o.AnswerAll.Run(nil); err != nil || r != 0 {
			t.Fatalf("running the arithmetic's program: %d, %v", r, err)
		}
		for i := range keys[:n] {
			if err := o.Cases.Lookup(keys[i], &cases[i]); err != nil {
				t.Fatalf("reading the answers: %v", err)
			}
		}
		answers = append(answers, cases[:n]...)
	}
	return answers
}

func askHost(t *testing.T, questions []question) []question {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ask")
	compile := exec.Command("clang", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined",
		"-fsanitize-undefined-trap-on-error", "-I../../../bpf/include", "-I../../../bpf/congestion",
		"-I../../../bpf/test", "-o", program, "testdata/ask.c")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compiling the headers for the host (make setup installs clang): %v\n%s", err, out)
	}
	var in, out bytes.Buffer
	if err := binary.Write(&in, binary.NativeEndian, questions); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program)
	run.Stdin = &in
	run.Stdout = &out
	if err := run.Run(); err != nil {
		t.Fatalf("running the headers on the host: %v", err)
	}
	answers := make([]question, len(questions))
	if err := binary.Read(&out, binary.NativeEndian, answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// draw draws from [low, high] with the logarithm spread evenly, both ends included often.
func draw(r *rand.Rand, low, high float64) uint32 {
	switch r.IntN(20) {
	case 0:
		return uint32(low)
	case 1:
		return uint32(high)
	}
	return uint32(math.Exp(math.Log(max(low, 1)) + r.Float64()*(math.Log(high)-math.Log(max(low, 1)))))
}
