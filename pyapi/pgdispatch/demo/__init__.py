"""The demonstration: real files become issues, two daemons do them, the claims are checked."""

from __future__ import annotations
