package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// talk has a word with itself over TCP every few milliseconds, until its standard input ends. It
// prints its server's port.
func talk(address string) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		panic(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(c, c)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	go func() {
		word := make([]byte, 100)
		ticks := time.NewTicker(5 * time.Millisecond)
		for {
			if _, err := c.Write(word); err != nil {
				return
			}
			if _, err := io.ReadFull(c, word); err != nil {
				return
			}
			<-ticks.C
		}
	}()
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
