"""Another reader of recordings, written from docs/reference/recording.md alone, for files without damage. Prints what is in one, as JSON.

Sums are modulo 2^64. In the weighted one a value counts as often as the number of its row says, so that exchanged rows show.

usage: reader.py FILE
"""

import json
import struct
import sys

MARKER = b"\x89ATR\r\n\x1a\n"
HEADER, FLOWS, SAMPLES, EVENTS, LOSS, END, RADIO = range(1, 8)
PACKED, PRESENCE, REFERENCE, INLINE = 1, 2, 4, 8
PARTS = ["code", "ca_state", "cwnd", "ssthresh", "in_flight", "cause", "reason", "from", "to", "seq", "end_seq", "value",
         "blocks", "text", "cpu", "from_sample"]
ABSENT = None


def crc32c_table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        yield n


TABLE = list(crc32c_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def signed(n):
    """n modulo 2^64, as two's complement."""
    n &= 2**64 - 1
    return n - 2**64 if n >> 63 else n


def unzigzag(z):
    return z >> 1 ^ -(z & 1)


class Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        assert n <= self.left(), "too short"
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        n = shift = 0
        while True:
            byte = self.byte()
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                assert n < 2**64, "too long a number"
                return n

    def zigzag(self):
        return unzigzag(self.varint())


def snappy(data):
    """Decompresses a block of Snappy."""
    source, out = Bytes(data), bytearray()
    length = source.varint()
    while source.left():
        tag = source.byte()
        if tag & 3 == 0:
            n = tag >> 2
            if n >= 60:
                n = int.from_bytes(source.take(n - 59), "little")
            out += source.take(n + 1)
            continue
        if tag & 3 == 1:
            n, back = (tag >> 2 & 7) + 4, tag >> 5 << 8 | source.byte()
        else:
            n, back = (tag >> 2) + 1, int.from_bytes(source.take(2 if tag & 3 == 2 else 4), "little")
        assert 0 < back <= len(out), "a copy from before the start"
        for _ in range(n):
            out.append(out[-back])
    assert len(out) == length, "another length than announced"
    return bytes(out)


def blocks(data):
    """Yields kind, count and payload of each block."""
    at = number = 0
    while at < len(data):
        head = data[at:at + 64]
        assert head[:8] == MARKER and crc32c(head[:60]) == struct.unpack_from("<I", head, 60)[0], "a damaged header"
        kind, major = head[8], head[9]
        assert major == 1, f"version {major}"
        sequence, length, count = struct.unpack_from("<III", head, 12)
        payload = data[at + 64:at + 64 + length]
        assert sequence == number and crc32c(payload) == struct.unpack_from("<I", head, 56)[0], "a damaged block"
        at, number = at + 64 + length, number + 1
        yield kind, count, payload if kind == SAMPLES else snappy(payload)


def unpack(groups, first, count):
    """The rows of a packed column, before reference and presence."""
    source, rows, last = Bytes(groups), [], first
    while len(rows) < count:
        width, n = source.byte(), min(32, count - len(rows))
        assert width <= 56 or width == 64, "a wrong width"
        word = int.from_bytes(source.take((n * width + 7) // 8), "little")
        for i in range(n):
            last = signed(last + unzigzag(word >> i * width & (1 << width) - 1))
            rows.append(last)
    assert source.left() == 0, "more groups than rows"
    return rows


def samples(payload, count):
    """The columns of a samples block, by id."""
    source = Bytes(payload)
    head = Bytes(snappy(source.take(struct.unpack("<I", source.take(4))[0])))
    rows, references, presences = {}, {}, {}
    while head.left():
        column, flags, first = head.varint(), head.byte(), head.zigzag()
        if flags & REFERENCE:
            references[column] = head.varint(), head.byte()
        if flags & PRESENCE:
            presences[column] = Bytes(head.take(head.varint()))
        if flags & INLINE:
            groups = head.take(head.varint())
        elif flags & PACKED:
            groups = snappy(source.take(head.varint()))
        rows[column] = unpack(groups, first, count) if flags & PACKED else [first] * count
    for column, (other, lag) in references.items():
        ahead = rows[other]
        rows[column] = [signed(v + ahead[max(0, i - lag)]) for i, v in enumerate(rows[column])]
    for column, runs in presences.items():
        at, present = 0, True
        while runs.left():
            n = runs.varint()
            if not present:
                rows[column][at:at + n] = [ABSENT] * n
            at, present = at + n, not present
        assert at == count, "a presence list of another length"
    return rows


def events(payload):
    source, time = Bytes(payload), 0
    while source.left():
        record = Bytes(source.take(source.varint()))
        time = signed(time + record.zigzag())
        event = {"time_ns": time, "flow": record.varint(), "kind": record.byte()}
        parts = record.varint()
        for bit, name in enumerate(PARTS):
            event[name] = {"blocks": [], "text": "", "from_sample": False}.get(name, 0)
            if not parts >> bit & 1:
                if name == "end_seq":
                    event[name] = event["seq"]
            elif name == "end_seq":
                event[name] = signed(event["seq"] + record.zigzag())
            elif name in ("seq", "value"):
                event[name] = record.zigzag()
            elif name == "blocks":
                for _ in range(record.varint()):
                    start = signed(event["seq"] + record.zigzag())
                    event[name].append([start, signed(start + record.zigzag())])
            elif name == "text":
                event[name] = record.take(record.varint()).hex()
            elif name == "from_sample":
                event[name] = True
            else:
                event[name] = record.varint()
        yield event


def read(data):
    out = {"samples": 0, "columns": {}, "events": [], "flows": [], "losses": [], "radio": [], "end": None}
    names = None
    for kind, count, payload in blocks(data):
        if kind == HEADER and names is None:
            names = {c["id"]: c["name"] for c in json.loads(payload)["columns"]}
            out["columns"] = {name: {"count": 0, "sum": 0, "weighted": 0} for name in names.values()}
        elif kind == FLOWS:
            out["flows"] += [json.loads(line) for line in payload.decode().splitlines()]
        elif kind == EVENTS:
            out["events"] += events(payload)
        elif kind == LOSS:
            out["losses"].append(json.loads(payload))
        elif kind == RADIO:
            out["radio"] += [json.loads(line) for line in payload.decode().splitlines()]
        elif kind == END:
            out["end"] = json.loads(payload)
        elif kind == SAMPLES:
            for column, rows in samples(payload, count).items():
                total = out["columns"][names[column]]
                there = [(i, v) for i, v in enumerate(rows, out["samples"] + 1) if v is not ABSENT]
                total["count"] += len(there)
                total["sum"] = (total["sum"] + sum(v for _, v in there)) % 2**64
                total["weighted"] = (total["weighted"] + sum(i * v for i, v in there)) % 2**64
            out["samples"] += count
    return out


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        json.dump(read(file.read()), sys.stdout)
