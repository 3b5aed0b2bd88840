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

// decompress decompresses src into the memory of buf, which grows if needed. It refuses a result
// longer than limit, or longer than the Snappy format allows for src. At least decodePadding bytes
// of capacity follow the result.
func decompress(buf, src []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if n > limit || n > maxExpansion*len(src) {
		return nil, errTooLong
	}
	buf = slices.Grow(buf[:0], n+decodePadding)
	return s2.Decode(buf[:n], src)
}
