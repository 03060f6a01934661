// Package compare compares runs: it sorts histories into groups, one per configuration, and makes tables of their means
// over seeds, with intervals, tests and ranks.
//
//	compare.Table(hs...).Show()
//	compare.Comparison{Baseline: "FedAvg", Target: 0.9}.Table(hs...).Save("table.tex")
//
// A Quantity is a number of a run, and of its rounds: tables, figures (see package plot), ranks and claims are views of runs and
// quantities. A Comparison has one line per group and many quantities, a Pivot one quantity in many settings, which Split finds by a
// label, and Tidy is the long table of all.
//
// Claims tests what sources report and claim against runs, with a verdict on each, which is computed.
//
// A run is read through its history alone. Light histories suffice: only Idle, Wasted and Staleness need what a history records
// per client, and a table says what it misses.
//
// Intervals, tests and ranks are those of package stats. Undefined values are NaN, and "–" in tables: an interval of one run, a
// test of differences that are all 0.
package compare
