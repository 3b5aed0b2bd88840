// Package nl80211 asks the kernel about Wi-Fi interfaces: their stations and channels, and scans
// and changes of the access point as they happen. It changes nothing, and needs no privilege.
package nl80211

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
)

// ErrMissing means that the kernel has no nl80211: its module cfg80211 is neither built in nor
// loaded.
var ErrMissing = errors.New("this kernel has no nl80211 (module cfg80211)")

// Client asks in the network namespace in which it was opened.
type Client struct {
	conn   *genetlink.Conn
	family genetlink.Family
}

// Open connects to the kernel.
func Open() (*Client, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return nil, fmt.Errorf("opening nl80211: %w", err)
	}
	family, err := conn.GetFamily(unix.NL80211_GENL_NAME)
	if err == nil {
		return &Client{conn, family}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrMissing
	}
	return nil, errors.Join(fmt.Errorf("opening nl80211: %w", err), conn.Close())
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// dump returns the kernel's answers to a question about an interface, or about all with index 0.
func (c *Client) dump(command uint8, index int) ([]genetlink.Message, error) {
	var data []byte
	if index > 0 {
		attributes := netlink.NewAttributeEncoder()
		attributes.Uint32(unix.NL80211_ATTR_IFINDEX, uint32(index))
		var err error
		data, err = attributes.Encode()
		if err != nil {
			return nil, fmt.Errorf("asking nl80211: %w", err)
		}
	}
	answers, err := c.conn.Execute(genetlink.Message{
		Header: genetlink.Header{Command: command, Version: c.family.Version}, Data: data,
	}, c.family.ID, netlink.Request|netlink.Dump)
	if err != nil {
		return nil, fmt.Errorf("asking nl80211: %w", err)
	}
	return answers, nil
}

// Interfaces lists the Wi-Fi interfaces.
func (c *Client) Interfaces() ([]Interface, error) {
	answers, err := c.dump(unix.NL80211_CMD_GET_INTERFACE, 0)
	if err != nil {
		return nil, err
	}
	var all []Interface
	for _, answer := range answers {
		i, err := parseInterface(answer.Data)
		if err != nil {
			return nil, err
		}
		if i.Name != "" { // a device without an interface, such as P2P
			all = append(all, i)
		}
	}
	return all, nil
}

// Stations lists the links of an interface: its access point, or the clients of an access point.
func (c *Client) Stations(index int) ([]Station, error) {
	answers, err := c.dump(unix.NL80211_CMD_GET_STATION, index)
	if err != nil {
		return nil, err
	}
	all := make([]Station, len(answers))
	for i, answer := range answers {
		all[i], err = parseStation(answer.Data)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Channel returns the times of an interface's present channel. It reports false if the driver does
// not tell them. Some drivers do not mark the channel in use: it has the interface's frequency.
func (c *Client) Channel(i *Interface) (Survey, bool, error) {
	answers, err := c.dump(unix.NL80211_CMD_GET_SURVEY, i.Index)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return Survey{}, false, nil
	}
	if err != nil {
		return Survey{}, false, err
	}
	for _, answer := range answers {
		s, err := parseSurvey(answer.Data)
		here := i.FrequencyMHz > 0 && s.Values[tcp.RadioFrequencyMHz] == int64(i.FrequencyMHz)
		if err != nil || s.InUse || here {
			return s, err == nil, err
		}
	}
	return Survey{}, false, nil
}

// Events receives what happens to the interfaces.
type Events struct {
	client *Client
	queue  []Event
}

// OpenEvents begins to receive events.
func OpenEvents() (*Events, error) {
	client, err := Open()
	if err != nil {
		return nil, err
	}
	for _, group := range client.family.Groups {
		switch group.Name {
		case unix.NL80211_MULTICAST_GROUP_SCAN, unix.NL80211_MULTICAST_GROUP_MLME:
			if err := client.conn.JoinGroup(group.ID); err != nil {
				return nil, errors.Join(fmt.Errorf("receiving events of nl80211: %w", err), client.Close())
			}
		}
	}
	return &Events{client: client}, nil
}

// Next waits for the next event. After Interrupt it returns an error. Events that were lost, as the
// reader was slow, are no error.
func (e *Events) Next() (Event, error) {
	for len(e.queue) == 0 {
		messages, _, err := e.client.conn.Receive()
		if errors.Is(err, unix.ENOBUFS) {
			continue
		}
		if err != nil {
			return Event{}, fmt.Errorf("receiving events of nl80211: %w", err)
		}
		for _, m := range messages {
			event, known, err := parseEvent(m.Header.Command, m.Data)
			if err != nil {
				return Event{}, err
			}
			if known {
				e.queue = append(e.queue, event)
			}
		}
	}
	next := e.queue[0]
	e.queue = e.queue[1:]
	return next, nil
}

// Interrupt ends a Next that waits, and all later ones, with an error.
func (e *Events) Interrupt() error { return e.client.conn.SetReadDeadline(time.Unix(1, 0)) }

// Close closes the connection.
func (e *Events) Close() error { return e.client.Close() }

// unsigned reads a number of the kernel, whatever its size is.
func unsigned(b []byte) (int64, bool) {
	switch len(b) {
	case 1:
		return int64(b[0]), true
	case 2:
		return int64(binary.NativeEndian.Uint16(b)), true
	case 4:
		return int64(binary.NativeEndian.Uint32(b)), true
	case 8:
		return int64(binary.NativeEndian.Uint64(b)), true
	}
	return 0, false
}
