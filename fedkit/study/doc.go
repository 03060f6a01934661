// Package study caches runs: each is stored in a folder under the key of its whole configuration, and computed once.
//
// Runs are added in plain loops, then run together:
//
//	st := study.New("runs")
//	for _, lr := range []float64{0.03, 0.1} {
//		for seed := range uint64(5) {
//			st.Add(fed, &strategy.FedAvg{Local: fedkit.Local{LR: lr}}, fedkit.Options{Rounds: 30, Seed: seed}, "η", lr)
//		}
//	}
//	runs, err := st.Run(ctx)
//	compare.Table(runs.Histories()...).Show()
//	plot.Accuracy(runs.Where("η", 0.1).Histories()...).Show()
//
// If the program is started again, or a cell run again, only what is missing is computed, and Run says why it is missing:
// "23 stored, 2 to run: Local.LR: 0.03, was 0.1".
//
// # Plans
//
// A long study is a function that returns a Plan: its runs, with the World that each is in. No data are loaded before they run. The
// command ./scripts/study runs it, all of it or a part, and a cell finds what has been computed, in a folder or an extract: see Plan.Find.
//
// # What identifies a run
//
// The key is the SHA-256 of everything that changes results: the strategy with every option and part, in exported fields
// and others; the task (what its functions compute, and its initial parameters); the data and which client has which rows;
// interceptors, devices, the options of the run, the seed; the kind of device and the flags that XLA was given; and your own code, if
// the strategy, a part of it or the model is yours. Names, labels and the number of workers are not part of it, nor is the version of
// fedkit: it is stored with a run, and Run warns if it differs. Study.Recompute computes everything again.
//
// Your own code counts by package: every package of your modules that the program links, with the files that it embeds, and the version
// of others that these import. A cell of a notebook counts by declaration instead, since each is a program of its own, and a cell that
// draws must find what another has computed: all that your types and functions reach, and the packages of your own that they import.
//
// What the key cannot see is not stored, and the error names the field: a closure or a method value as a part; a function beside a
// field Name, which may stand for it, that captures a variable; code that uses a package's variable which a function sets, or that asks
// the command line, the environment or a file; code whose files cannot be read as they were when the program was built. Use constants
// and fields. A part that knows better says so by a method, whose text then stands for all of its fields:
//
//	func (p Part) Key() string
//
// A field that only holds what is computed from others is left out by a tag:
//
//	mask []float32 `config:"-"`
//
// What was added is what runs. If data, clients, the task or a part are changed between Add and Run, Run says so, and stores
// nothing.
//
// # The folder
//
//	runs/FedAvg-1a2b3c4d5e6f/entry.json            what identifies the run, its labels, how it ended
//	runs/FedAvg-1a2b3c4d5e6f/history.jsonl         its history
//	runs/FedAvg-1a2b3c4d5e6f/models.safetensors    its final models, if Study.Models
//	runs/table/FedAvg-1a2b3c4d5e6f.csv.gz          the history as a long table: run, round, client, metric, value
//
// In Python, the tables of all runs are one:
//
//	import glob, pandas as pd
//	runs = pd.concat(map(pd.read_csv, glob.glob("runs/table/*.csv.gz")))
//
// The entry has the checksum of each file, and its own. A file that was altered, or is another run's, is refused by name when it
// is read. The next study recomputes such a run, or rewrites its long table. Anything else in the place of a file or folder is
// renamed, with ".damaged" added. Run.Check reads all files of a run, also the table, which only other programs read.
//
// Runs.Extract writes what tables and curves need of any number of runs into one small file, and Open reads it.
//
// These are plain files, which may be copied and removed by hand.
//
// # Several processes
//
// Any number of processes may compute a study at the same time, on machines that share the folder: each takes whatever run is free, and
// shows those that others finish. Study.Submit starts them, by Slurm for example. A run has a lock, a file runs/.locks/ID that says who
// computes it, and is renewed every few seconds. A run that was killed is taken over at once on the same machine, and half a minute
// after the last renewal by other ones, whatever their clocks; it goes on from its checkpoint. The folder's file system needs exclusive
// create and atomic rename, which is tried before anything runs.
package study
