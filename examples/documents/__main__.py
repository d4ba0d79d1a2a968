"""`python -m examples.documents` is demo.py."""

import sys

from examples.documents.demo import main

sys.exit(main())
