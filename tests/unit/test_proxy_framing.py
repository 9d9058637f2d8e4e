"""Small chunks of an answer are joined: a parser sees the same bytes, however they come."""

import random

import h11

from muniment.faces.proxy.upstream.framing import ChunkJoiner


def write_chunks(chunks: list[bytes]) -> bytes:
    """An answer of these chunks, with an extension each and a trailer."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
    return head + b"".join(b"%X;a=b\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\nT: v\r\n\r\n"


def parse(joiner: ChunkJoiner, pieces: list[bytes]) -> tuple[bytes, int]:
    """What the parser of HTTP sees of an answer: its body, and the number of its chunks."""
    connection, body, count = h11.Connection(h11.CLIENT), b"", 0
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    joiner.begin_request()
    for piece in pieces:
        if seen := joiner.join_chunks(piece):
            connection.receive_data(seen)
        while (event := connection.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                body, count = body + bytes(event.data), count + 1
            if isinstance(event, h11.EndOfMessage):
                return body, count
    raise AssertionError("the answer has no end")


def test_any_split() -> None:
    """Split anywhere, with line ends and digits in the chunks, the body is the same; several answers follow."""
    draw, joiner = random.Random(28), ChunkJoiner()
    for _ in range(1_000):
        chunks = [bytes(draw.choices(b"ab\r\n0", k=draw.randrange(1, 12))) for _ in range(draw.randrange(12))]
        raw, pieces = write_chunks(chunks), list[bytes]()
        while raw:
            size = draw.choice([1, 2, 3, 7, 50, 1_000])
            pieces, raw = [*pieces, raw[:size]], raw[size:]
        assert parse(joiner, pieces)[0] == b"".join(chunks)


def test_one_chunk_of_many() -> None:
    """What comes together is one chunk."""
    raw = write_chunks([b"data: x\n\n"] * 100)
    assert parse(ChunkJoiner(), [raw]) == (b"data: x\n\n" * 100, 1)


def test_other_answers() -> None:
    """An answer with a length passes as it is, and so does what is no chunk."""
    joiner = ChunkJoiner()
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n5\r\nab"
    assert joiner.join_chunks(plain) == plain
    joiner.begin_request()
    first = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert joiner.join_chunks(first + plain) == first + plain
    joiner.begin_request()
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    assert joiner.join_chunks(head + b"zz\r\nab") == head + b"zz\r\nab"
