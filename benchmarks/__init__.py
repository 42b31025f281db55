"""What the docs promise, measured. In: `make bench`. Out: figures beside those of a peer, and docs/benchmarks.md."""
