package engine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// virtioBytes is the size of struct virtio_net_hdr (include/uapi/linux/virtio_net.h), in bytes. The
// header precedes every packet and has the machine's byte order.
const virtioBytes = 10

type virtio struct {
	flags, gso                                 uint8
	headerBytes, segmentBytes                  uint16
	checksumStart /* in the frame */, checksum uint16
}

func readVirtio(b []byte) virtio {
	return virtio{
		flags: b[0], gso: b[1] &^ unix.VIRTIO_NET_HDR_GSO_ECN,
		headerBytes: binary.NativeEndian.Uint16(b[2:]), segmentBytes: binary.NativeEndian.Uint16(b[4:]),
		checksumStart: binary.NativeEndian.Uint16(b[6:]), checksum: binary.NativeEndian.Uint16(b[8:]),
	}
}

func (v virtio) write(b []byte) {
	b[0] = v.flags
	b[1] = v.gso
	binary.NativeEndian.PutUint16(b[2:], v.headerBytes)
	binary.NativeEndian.PutUint16(b[4:], v.segmentBytes)
	binary.NativeEndian.PutUint16(b[6:], v.checksumStart)
	binary.NativeEndian.PutUint16(b[8:], v.checksum)
}
