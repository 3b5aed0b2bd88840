package trace

import (
	"encoding/binary"
	"math/bits"
)

// Residuals are packed in groups of groupRows: a byte with the number of bits of each, 0 to 56 or
// 64, and then the bits themselves, from the least significant bit of the first byte on. The
// packing loops are the hottest of this package: eight residuals of w bits fill w bytes exactly, so
// that up to 16 bits no bits need to be carried from one eight to the next. A shift by the same
// count each time is cheaper than by different ones.
const maxPackedBits = 56 // a residual and up to 7 bits before it fit into a 64-bit word

// maxGroups is the memory that packing n residuals may take, and write beyond.
func maxGroups(n int) int { return n*8 + n/groupRows + 3*8 }

// packGroup packs the first n residuals at out[at:] and returns the end of the packed bytes. seen
// is the bitwise OR of all n residuals. packGroup may write beyond the returned end, but no further
// than maxGroups.
func packGroup(out []byte, at int, r *[groupRows]uint64, n int, seen uint64) int {
	width := uint(bits.Len64(seen))
	if width > maxPackedBits {
		width = 64
	}
	out[at] = byte(width)
	at++
	if n < groupRows {
		return packWide(out, at, r[:n], width)
	}
	switch {
	case width == 0:
		return at
	case width <= 8:
		for i := 0; i < groupRows; i += 8 {
			e := (*[8]uint64)(r[i:])
			word := e[7]
			word = word<<(width&63) | e[6]
			word = word<<(width&63) | e[5]
			word = word<<(width&63) | e[4]
			word = word<<(width&63) | e[3]
			word = word<<(width&63) | e[2]
			word = word<<(width&63) | e[1]
			word = word<<(width&63) | e[0]
			binary.LittleEndian.PutUint64(out[at:at+8], word)
			at += int(width)
		}
		return at
	case width <= 16:
		for i := 0; i < groupRows; i += 8 {
			e := (*[8]uint64)(r[i:])
			low := e[3]
			low = low<<(width&63) | e[2]
			low = low<<(width&63) | e[1]
			low = low<<(width&63) | e[0]
			high := e[7]
			high = high<<(width&63) | e[6]
			high = high<<(width&63) | e[5]
			high = high<<(width&63) | e[4]
			to := (*[16]byte)(out[at:])
			binary.LittleEndian.PutUint64(to[:8], low|high<<(4*width))
			binary.LittleEndian.PutUint64(to[8:], high>>(64-4*width))
			at += int(width)
		}
		return at
	case width <= maxPackedBits/2:
		var pairs [groupRows / 2]uint64
		for i := range pairs {
			pairs[i] = r[2*i] | r[2*i+1]<<(width&63)
		}
		return packWide(out, at, pairs[:], 2*width)
	}
	return packWide(out, at, r[:], width)
}

// packWide packs words of any width up to maxPackedBits, or 64.
func packWide(out []byte, at int, words []uint64, width uint) int {
	if width == 64 {
		for _, w := range words {
			binary.LittleEndian.PutUint64(out[at:at+8], w)
			at += 8
		}
		return at
	}
	var carry uint64 // bits that have not left yet, at their place
	var filled uint  // their number, 0 to 7
	for _, w := range words {
		carry |= w << (filled & 7)
		binary.LittleEndian.PutUint64(out[at:at+8], carry)
		filled += width
		at += int(filled >> 3)
		carry >>= filled & 0x38
		filled &= 7
	}
	if filled > 0 {
		at++
	}
	return at
}

// unpackGroup reads n residuals of width bits from b. Another 8 bytes must be readable behind them.
func unpackGroup(b []byte, r *[groupRows]uint64, n int, width uint) {
	mask := uint64(1)<<(width&63) - 1
	switch {
	case width == 64:
		for i := range r[:n] {
			r[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case width <= 8 && n == groupRows:
		for i := 0; i < groupRows; i += 8 {
			e := (*[8]uint64)(r[i:])
			word := binary.LittleEndian.Uint64(b[i/8*int(width):])
			e[0] = word & mask
			word >>= width & 63
			e[1] = word & mask
			word >>= width & 63
			e[2] = word & mask
			word >>= width & 63
			e[3] = word & mask
			word >>= width & 63
			e[4] = word & mask
			word >>= width & 63
			e[5] = word & mask
			word >>= width & 63
			e[6] = word & mask
			word >>= width & 63
			e[7] = word & mask
		}
	case width <= 14 && n == groupRows:
		for i := 0; i < groupRows; i += 4 {
			e := (*[4]uint64)(r[i:])
			bit := uint(i) * width
			word := binary.LittleEndian.Uint64(b[bit/8:]) >> (bit & 7)
			e[0] = word & mask
			word >>= width & 63
			e[1] = word & mask
			word >>= width & 63
			e[2] = word & mask
			word >>= width & 63
			e[3] = word & mask
		}
	default:
		for i := range r[:n] {
			bit := uint(i) * width
			r[i] = binary.LittleEndian.Uint64(b[bit/8:]) >> (bit & 7) & mask
		}
	}
}
