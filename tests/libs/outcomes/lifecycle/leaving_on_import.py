"""A module that ends the process that imports it."""

import sys

sys.exit("not here")
