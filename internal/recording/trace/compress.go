package trace

import (
	"errors"
	"slices"

	"github.com/klauspost/compress/s2"
)

// Payloads are compressed in the Snappy block format. Residuals are already packed to about their
// entropy, so that a compressor with an entropy coder (zstd) would save another tenth of the file
// at the price of doubling the work.

// decodePadding bytes may be read behind decompressed data, so that bits are read with 64-bit
// loads.
const decodePadding = 8

// compress appends src, compressed, to dst.
func compress(dst, src []byte) []byte {
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(src)))
	out := s2.EncodeSnappy(dst[len(dst):cap(dst)], src)
	return dst[:len(dst)+len(out)]
}

var errTooLong = errors.New("decompressed data would be longer than it can be")

// decompress decompresses src into the memory of buf, which grows when needed but never for more
// than limit bytes. At least decodePadding bytes of capacity are left behind the result.
func decompress(buf, src []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, errTooLong
	}
	buf = slices.Grow(buf[:0], n+decodePadding)
	return s2.Decode(buf[:n], src)
}
