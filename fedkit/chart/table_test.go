package chart

import (
	"os"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := &Table{Lines: [][]string{{"", "accuracy"}, {"<FedAvg>", "60.0 ± 1.4 %"}, {"B"}}, Note: "on test rows"}
	want := "" +
		"              accuracy\n" +
		"<FedAvg>  60.0 ± 1.4 %\n" +
		"B\n" +
		"on test rows\n"
	if got := table.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
	if s := table.HTML(); strings.Contains(s, "<FedAvg>") || !strings.Contains(s, `<td style="text-align:left">&lt;FedAvg&gt;</td>`) {
		t.Errorf("got:\n%s", s)
	}
	if got := capture(t, &os.Stdout, table.Show); got != want {
		t.Errorf("printed:\n%s", got)
	}
	c := inCell(t)
	table.Show()
	if f := c.outputs[0].forms; len(c.outputs) != 1 || f["text/html"] != table.HTML() || f["text/plain"] != want || c.syncs != 1 {
		t.Errorf("%+v", c.outputs)
	}
}

// Neither numbers nor their units get lines of their own, only what follows ±. Sentences may have several lines.
func TestNumbersStayWhole(t *testing.T) {
	table := &Table{Left: []int{2}, Note: "± 1.4 %",
		Lines: [][]string{{"", "to 90 % of all", "why"}, {"a b", "3 min 22 s ± 25.4 s", "it has 5 % of the rows"}}}
	got := strings.ReplaceAll(table.HTML(), "\u00a0", "~")
	for _, want := range []string{">a b<", ">to 90~% of all<", ">3~min~22~s ±~25.4~s<", ">it has 5~% of the rows<", ">±~1.4~%<"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s has no %s", got, want)
		}
	}
	if strings.Contains(table.String()+table.CSV()+table.LaTeX(), "\u00a0") {
		t.Error("a no-break space in text")
	}
}

func TestTablesThatCannotBeShown(t *testing.T) {
	for want, table := range map[string]*Table{"is nil": nil, "no lines": {Note: "empty"}} {
		if err := table.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if !strings.HasPrefix(table.String(), ErrorPrefix) || !strings.Contains(table.HTML(), ErrorPrefix) {
			t.Errorf("%q hides the error", table.String())
		}
	}
}
