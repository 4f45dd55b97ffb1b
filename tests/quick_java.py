"""Options for Java where it lives for minutes at most, on a machine with few cores.

What the second compiler and the parallel collectors cost is not earned back by then: measured on the tests
of the engine and of its answers, a third of all processor time.
"""

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
