"""WHAT travels means: typed views of the wire, one table per union. In: raw bytes. Out: structs that forget nothing."""
