// Package export writes histories for other programs, as long tables with the columns run, round, client, metric and value (see Row):
//
//	err := export.Table("runs/table/avg-1.csv.gz", "avg-1", h)
//
// and in Python
//
//	t = pd.concat(map(pd.read_csv, glob.glob("runs/table/*.csv.gz")))
//	t[t.client == -1].pivot(index="round", columns=["metric", "run"], values="value").global_accuracy.plot()
//
// Tables that compare runs have their own Save, with a line per run: see table.Table.
//
//	err := compare.Table(hs...).Save("runs.csv")
//
// Package weights writes models.
package export
