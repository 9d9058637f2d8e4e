"""Documents that the tests make: PDF by its bytes."""

import zlib
from collections.abc import Sequence


def make_pdf(lines: Sequence[str], *, stream: bytes | None = None, extra: bytes = b"") -> bytes:
    """A PDF of one page with these lines of ASCII, or with a `stream` of its own that is packed already. `extra` goes
    into the trailer."""
    shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
    packed = zlib.compress(f"BT /F1 12 Tf 40 700 Td {shown}ET".encode()) if stream is None else stream
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 6\n0000000000 65535 f \n%strailer\n<</Size 6/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n"
    return body + head % (table, extra, len(body))
