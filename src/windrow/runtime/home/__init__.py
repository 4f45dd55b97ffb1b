"""The home: one directory with everything that an engine remembers, and the step that commits."""
