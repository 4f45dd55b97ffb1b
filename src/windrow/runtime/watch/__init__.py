"""For people who watch: status, metrics, what waits."""
