"""`python -m handrail.cli`. In: argv. Out: an exit code."""

import sys

from handrail.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
