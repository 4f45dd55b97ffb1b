"""The one place in the tests that knows how an engine is built inside.

A test asks the public face (`Engine`, `Live`, `home_status`), or it asks here. So whoever rebuilds the inside
of an engine changes these files and no test; `tests/test_seam.py` sees to it that nobody else looks inside.

| file | what it is for |
|---|---|
| `micro_batches.py` | feed any rows, in any batches, to a stream; let time go on; seal |
| `readers.py` | the readers of an engine that runs: which there are, what they read, whether they wait |
| `plans.py` | queries as they are bound, and the trees that they share |
| `on_disk.py` | what a home has committed, as any process reads it; homes that are held, compacted, tampered with |
| `faults.py` | failures at the steps of the commit protocol, and at the places where Spark is asked |
| `breakages.py` | engines with a bug in them, for the proof that comparisons notice |

An engine is restarted by making another `windrow.Engine` on its home: that needs nothing from here.
"""
