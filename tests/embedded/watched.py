"""A parent on a system whose kernel does not end children with it: starts one that waits, through the watchdog, and says its pid.

Arguments: `wait` (stay until killed) or `end` (end the child first, then say the pids that are left).
"""

import os
import signal
import subprocess
import sys
import threading

from perdure_server.embedded import child

SLEEPER = "import threading; threading.Event().wait()"
WRAPPED = f"""
import os, runpy, sys
module = runpy.run_path({child.__file__!r})
module["bind_to_parent"](os.getppid(), int(sys.argv[1]), platform="darwin")
os.execv(sys.executable, [sys.executable, "-c", {SLEEPER!r}])
"""


def main(order: str) -> None:
    reading, _writing = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", WRAPPED, str(reading)], pass_fds=(reading,))
    os.close(reading)
    if order == "end":
        process.send_signal(signal.SIGKILL)
        process.wait()
    sys.stdout.write(f"{process.pid}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
