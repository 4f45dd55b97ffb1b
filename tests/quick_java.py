"""Options for Java where it lives for minutes at most, on a machine with few cores.

What the second compiler and the parallel collectors cost is not earned back by then: measured on the tests
of the engine and of its answers, a third of all processor time. What Java leaves behind when it is killed
goes where the temporary files of the test go, and is deleted with them.
"""

import tempfile

QUICK_JAVA = (
    f'-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "-Djava.io.tmpdir={tempfile.gettempdir()}"'
)
