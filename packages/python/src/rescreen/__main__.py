"""`python -m rescreen` is the command `rescreen`."""

import os
import sys

from rescreen import binary

if __name__ == "__main__":
    program = binary()
    # The command takes the place of this process, so signals reach it and no parent has to wait for it.
    os.execv(program, [str(program), *sys.argv[1:]])
