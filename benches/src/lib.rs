//! Timing and tables for the benchmarks beside it.
