"""The log of the proxy: one line for each record of any library, and none with a key, a token or a message's text."""

from __future__ import annotations

import logging
from collections.abc import Callable

from muniment.faces.serving.request_ids import write_log

LOG = logging.getLogger("muniment.proxy")
LAYOUT = "[%(asctime)s] [%(levelname)s] [rid=%(request_id)s] [%(name)s] %(message)s"
_OURS = "muniment"
# Said by the server when a client or an upstream goes away in the middle, of which there is a line already.
_CUT = "ASGI callable returned without completing response"


class _OneLine(logging.Filter):
    """Makes a record one line, redacted where it is not ours: nobody knows what other libraries say."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; whether it is worth a line."""
        text = record.getMessage()
        if record.name.partition(".")[0] == _OURS:
            record.msg, record.args = " ".join(text.split()), ()
            return True
        lines = text.splitlines()
        record.msg, record.args = self._redact(lines[0] if lines else ""), ()
        return not text.startswith(_CUT)


def start_log(level: str, redact: Callable[[str], str]) -> None:
    """Write the log of this process to standard error, our lines from this level on, those of others from warnings.

    Others are no more told at DEBUG: some of them say bodies and headers of requests there."""
    write_log(LAYOUT, logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_OneLine(redact))
    logging.getLogger(_OURS).setLevel(level)
    logging.captureWarnings(capture=True)
