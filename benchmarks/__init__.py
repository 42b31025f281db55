"""The benchmarks behind the promises of the docs. Run `make bench`; it writes docs/benchmarks.md."""
