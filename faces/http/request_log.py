"""The log of the service: each line has the id of its request, and none has a text of a memory."""

from __future__ import annotations

import logging

from muniment.faces.serving.request_ids import write_log

LOG = logging.getLogger("muniment.http")
_LAYOUT = "%(asctime)s %(levelname)s %(request_id)s %(name)s: %(message)s"


def start_log(level: int = logging.INFO) -> None:
    """Write the log of this process to standard error."""
    write_log(_LAYOUT, logging.WARNING)
    LOG.setLevel(level)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
