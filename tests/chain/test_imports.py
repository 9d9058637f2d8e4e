"""What the chain brings along."""

from __future__ import annotations

import subprocess
import sys

from muniment import chain


def test_each_public_name_is_there() -> None:
    """Each is found where it is said to be, and has a docstring."""
    assert [name for name in chain.__all__ if not getattr(chain, name).__doc__] == []
    assert set(chain.__all__) <= set(dir(chain))


def test_a_host_brings_no_library() -> None:
    """Neither a driver nor a client nor pydantic, which the tools of the plain loop use."""
    heavy = {"pydantic", "openai", "psycopg", "langchain_core", "langgraph", "numpy", "muniment.memory"}
    program = f"import sys\nfrom muniment.chain import Host, open_sync_host\nassert not {heavy!r} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", program], check=True)
