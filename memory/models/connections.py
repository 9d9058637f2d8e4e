"""What the HTTP clients of the adapters have in common."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy


def make_empty_jar() -> CookieJar:
    """Return cookies that stay empty: one that an endpoint sets for one client would be sent by others."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
