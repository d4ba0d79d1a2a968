"""`python -m perdure_server`."""

import sys

from perdure_server.main import main

if __name__ == "__main__":
    sys.exit(main())
