// Package export writes models and histories for other programs, and reads models back.
//
// Models become safetensors files with the names of their layers, for NumPy, PyTorch and JAX:
//
//	err := export.SafeTensors("avg.safetensors", fed.Task, avg.State.X)
//
// and in Python
//
//	from safetensors.numpy import load_file
//	w = load_file("avg.safetensors")["dense1/weights"]
//
// GoMLX writes a checkpoint for programs that use GoMLX without fedkit.
//
// Histories become long tables with the columns run, round, client, metric and value (see Row):
//
//	err := export.Table("runs/table/avg-1.csv.gz", "avg-1", h)
//
// and in Python
//
//	t = pd.concat(map(pd.read_csv, glob.glob("runs/table/*.csv.gz")))
//	t[t.client == -1].pivot(index="round", columns=["metric", "run"], values="value").global_accuracy.plot()
//
// Tables that compare runs write themselves, with a line per run: see table.Table.
//
//	err := compare.Table(h...).Save("runs.csv")
package export
