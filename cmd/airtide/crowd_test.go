package main

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// The connections of one process of a crowd: those that last and send every second, and the new ones
// of a second. Both ends of the lasting ones are open files, of which a process has 20,000 or less.
const (
	crowdProcesses = 4
	crowdLasting   = 20_000 / crowdProcesses
	crowdPerSecond = 5000 / crowdProcesses
	crowdFor       = 10 * time.Second
)

// crowd opens connections over the loopback device, at both ends. In each hundredth of a second a
// hundredth of the lasting ones send a byte, and new ones open, send a byte and close. It prints how
// many were new.
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
	open := func() (client, server int) {
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		try(err)
		// Each of many addresses has its own ports, so that those in TIME-WAIT are not missed.
		to := &unix.SockaddrInet4{Port: bound.(*unix.SockaddrInet4).Port}
		binary.BigEndian.PutUint32(to.Addr[:], 127<<24+2+uint32(opened%200))
		try(unix.Connect(client, to))
		server, _, err = unix.Accept(listener)
		try(err)
		opened++
		return client, server
	}
	say := func(client int) {
		_, err := unix.Write(client, []byte{1})
		try(err)
	}
	var lasting []int
	for range crowdLasting {
		client, _ := open()
		lasting = append(lasting, client)
		say(client)
	}
	began := time.Now()
	const turns = 100 // in a second
	turn := 0
	for range time.Tick(time.Second / turns) {
		for ; turn < int(min(time.Since(began), crowdFor)*turns/time.Second); turn++ {
			for i := range crowdLasting / turns {
				say(lasting[turn%turns*crowdLasting/turns+i])
			}
			for range crowdPerSecond*(turn+1)/turns - crowdPerSecond*turn/turns {
				client, server := open()
				say(client)
				try(unix.Close(client))
				try(unix.Close(server))
			}
		}
		if time.Since(began) >= crowdFor {
			break
		}
	}
	fmt.Println(opened - crowdLasting)
}
