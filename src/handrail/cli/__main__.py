"""`python -m handrail.cli`."""

import sys

from handrail.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
