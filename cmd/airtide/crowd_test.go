package main

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// The connections of one process of a crowd: those that last and send every second, and the new
// ones of a second. Both ends of the lasting ones are open files, of which a process has 20,000 or
// less.
const (
	crowdProcesses = 4
	crowdLasting   = 20_000 / crowdProcesses
	crowdPerSecond = 5000 / crowdProcesses
	crowdFor       = 5 * time.Second
)

// crowd opens connections over the loopback device, at both ends. In each hundredth of a second a
// hundredth of the lasting ones send a byte, and new ones open, send a byte and close. The lasting
// ones open and close at the rate of the new ones. It prints how many were new.
func crowd() {
	try := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	try(err)
	try(unix.Bind(listener, &unix.SockaddrInet4{}))
	try(unix.Listen(listener, 1024))
	bound, err := unix.Getsockname(listener)
	try(err)
	opened := 0
	open := func() (ends [2]int) {
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		try(err)
		// Each of many addresses has its own ports, so that those in TIME-WAIT are not missed.
		to := &unix.SockaddrInet4{Port: bound.(*unix.SockaddrInet4).Port}
		binary.BigEndian.PutUint32(to.Addr[:], 127<<24+2+uint32(opened%200))
		try(unix.Connect(client, to))
		server, _, err := unix.Accept(listener)
		try(err)
		opened++
		say(client)
		return [2]int{client, server}
	}
	end := func(ends [2]int) {
		try(unix.Close(ends[0]))
		try(unix.Close(ends[1]))
	}
	var lasting [][2]int
	const turns = 100 // in a second
	inTurns(turns, crowdLasting/crowdPerSecond*time.Second, func(turn int) {
		for range portion(crowdPerSecond, turns, turn) {
			lasting = append(lasting, open())
		}
	})
	inTurns(turns, crowdFor, func(turn int) {
		for i := range crowdLasting / turns {
			say(lasting[turn%turns*crowdLasting/turns+i][0])
		}
		for range portion(crowdPerSecond, turns, turn) {
			end(open())
		}
	})
	fmt.Println(opened - len(lasting))
	inTurns(turns, crowdLasting/crowdPerSecond*time.Second, func(turn int) {
		for range portion(crowdPerSecond, turns, turn) {
			end(lasting[0])
			lasting = lasting[1:]
		}
	})
}

// say sends a byte.
func say(socket int) {
	if _, err := unix.Write(socket, []byte{1}); err != nil {
		panic(err)
	}
}

// portion is the part of a number for one turn of several: 12 or 13 of 1250 in 100.
func portion(number, turns, turn int) int { return number*(turn+1)/turns - number*turn/turns }

// inTurns calls a function in turns of a second for a time, late ones at once.
func inTurns(turns int, length time.Duration, do func(turn int)) {
	began := time.Now()
	ticks := time.NewTicker(time.Second / time.Duration(turns))
	defer ticks.Stop()
	all := int(length * time.Duration(turns) / time.Second)
	for turn := 0; turn < all; <-ticks.C {
		for ; turn < min(all, int(time.Since(began)*time.Duration(turns)/time.Second)); turn++ {
			do(turn)
		}
	}
}
