"""`python -m tests.bench`; the processes that it starts import the module behind it."""

from __future__ import annotations

from tests.bench.run import main

if __name__ == "__main__":
    main()
