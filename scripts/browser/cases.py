"""What a reader does, and what must be seen then. A case returns what it has to say; Failed is raised if it does not hold."""

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path

import nbformat
import psutil

from .chromium import Error, Failed, click, until
from .lab import DRAW_S
from .mistakes import EXPLORE, FED, FIRST, HEAD, MISTAKES, training

CHART = Path(__file__).resolve().parents[2] / "fedkit" / "chart"
ENDLESS = 100_000  # rounds


def need(holds, what):
    if not holds:
        raise Failed(what)


def first(at):
    """The README's first cell, typed; then one that trains and keeps its history, and one that draws it."""
    n = at.open("first.ipynb")
    said, start = n.run(FIRST)
    need(re.search(r"✓ 30 rounds in .* accuracy 9\d\.\d %", said), f"the first cell shows {said}")
    need(len(n.figures()) >= 2, "the first cell has not drawn its two figures")
    said, train = n.run(training("Rounds: 30, History: \"first.json\"", "fmt.Println(len(h.Rounds), \"rounds\")"))
    need("30 rounds" in said, said)
    _, draw = n.run('%%\nplot.Accuracy(must.M1(fedkit.Load("first.json"))).Show()')
    n.figures()
    until(DRAW_S, "a PNG of each figure in what JupyterLab saves", lambda: not at.page.evaluate("fedkit.bare()"))
    return f"first cell {start:.1f} s, one that trains {train:.1f} s, one that draws {draw:.1f} s"


def opened(at):
    """Opening a notebook does not change it."""
    at.open("01_fedavg.ipynb")
    known = "fedkit.panel.sessionContext.session.kernel.info.then(() => new Promise(done => setTimeout(done, 1000)))"
    need(not at.page.evaluate(f"{known}.then(() => fedkit.panel.context.model.dirty)"), "a notebook that was only opened is marked as changed")
    return "unchanged"


def figures(at):
    """Whole notebooks: their figures are drawn, and fit the page, wide and narrow, light and dark."""
    done = []
    for name in "09_fedclust", "20_compare_all", "21_your_own":
        n = at.open(f"{name}.ipynb")
        state, took = n.run_all()
        for theme in "Light", "Dark":
            at.theme(theme)
            for width in 1300, 900:
                at.page.set_viewport_size({"width": width, "height": 1000})
                figures = n.figures()
                with contextlib.suppress(Error):
                    until(5, "figures that fit", lambda: not at.page.evaluate("fedkit.outside()"))
                outside = at.page.evaluate("fedkit.outside()")
                need(not outside, f"{name}, {theme}, {width} pixels: cut off, or too small: {outside}")
                dim = at.page.evaluate("fedkit.dim()")
                need(not dim, f"{name}, {theme}: hard to read: {dim}")
                for i in range(len(figures)):
                    at.page.evaluate(f"fedkit.figure({i}); true")
                    at.photograph(f"figures-{name}-{theme}-{width}-{i}")
        at.page.set_viewport_size({"width": 1300, "height": 1000})
        at.theme("Light")
        done.append(f"{name} {state['cells']} cells in {took:.0f} s, {len(figures)} figures")
    return "; ".join(done)


def legend(at):
    """Twenty runs in one figure: each looks different, a click in the legend picks one out, a second click puts it back."""
    n = at.open("legend.ipynb")
    n.run(HEAD)
    cell = f"""%%
{FED}
var hs []*fedkit.History
for i := range 20 {{
	hs = append(hs, must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{{Local: fedkit.Local{{Batch: 16, LR: 0.01 * float64(i + 1)}}}}, fedkit.Options{{Rounds: 3}})))
}}
plot.Accuracy(hs...)"""
    said, _ = n.run(cell)
    n.figures()
    styles = at.page.evaluate("[...new Set([...document.querySelectorAll('svg.marks g.mark-line path')].map(e => getComputedStyle(e).stroke + getComputedStyle(e).strokeDasharray))].length")
    need(styles == 20, f"{styles} kinds of lines for 20 runs: {said}")

    def pick():
        click(at.page, "document.querySelectorAll('svg.marks g.role-legend-label text')[10]")
        time.sleep(0.5)
        return at.page.evaluate("[...document.querySelectorAll('svg.marks g.mark-line path')].map(e => getComputedStyle(e).opacity)")

    picked = pick()
    at.photograph("legend-picked")
    need(picked.count("1") == 1, f"after one click the lines have the opacities {picked}")
    back = pick()
    need(set(back) == {"1"}, f"after two clicks the lines have the opacities {back}")
    return "picked and put back"


def touch(at):
    """Pointing at a figure marks one point, and all of the same round; a click on the head of a long table sorts it; figures grow."""
    n = at.open("touch.ipynb")
    n.run(HEAD)
    n.run("""func curve(name string, by float64) chart.Series {
	s := chart.Series{Name: name}
	for i := range 40 {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, by*float64(i))
	}
	return s
}

%%
t := &table.Table{Lines: [][]string{{"rule", "accuracy", "sent"}}}
for i := range 60 {
	t.Lines = append(t.Lines, []string{fmt.Sprint("rule ", i), table.Percent(float64(i*37%60) / 60), table.Bytes(math.Pow(1.3, float64(i*23%60)))})
}
t.Show()
chart.Curves("", "round", "loss", curve("A", 1), curve("B", 2), curve("C", 3)).Show()""")
    n.figures()
    for column, by in (1, lambda row: float(row.split()[2])), (2, lambda row: float(row.split()[4]) * {"B": 1, "kB": 1e3, "MB": 1e6}[row.split()[5]]):
        for backward in False, True:
            took = at.page.evaluate(f"""(() => {{ const begin = performance.now(); fedkit.cells().at(-1).node.querySelectorAll('th')[{column}].click();
                document.body.offsetHeight; return performance.now() - begin }})()""")
            rows = at.page.evaluate("[...fedkit.cells().at(-1).node.querySelectorAll('tbody tr')].map(r => r.innerText)")
            values = [by(row) for row in rows]
            need(len(rows) == 60 and values == sorted(values, reverse=backward), f"sorted by column {column}: {rows}")
            need(took < 200, f"60 rows are sorted in {took:.0f} ms")
    head = "fedkit.cells().at(-1).node.querySelector('thead').getBoundingClientRect().top"
    before = at.page.evaluate(head)
    at.page.evaluate("fedkit.cells().at(-1).node.querySelector('.fedkit-long').scrollTop = 300; true")
    need(at.page.evaluate(head) == before, "the head of a long table does not stay")
    figure = "fedkit.cells().at(-1).node.querySelector('svg.marks')"
    at.page.evaluate(f"{figure}.scrollIntoView({{ block: 'center' }}); true")
    box = at.page.evaluate(f"(r => [r.x, r.y, r.width, r.height])({figure}.getBoundingClientRect())")
    need(box[2] > 700, f"the figure is {box[2]:.0f} pixels wide")
    at.page.mouse.move(box[0] + box[2] / 2, box[1] + box[3] / 2)
    shown = f"[...{figure}.querySelectorAll('g.mark-symbol path')].filter(e => getComputedStyle(e).opacity === '1').map(e => Math.round(e.getBBox().width))"
    until(5, "one large dot, and one on each other line", lambda: sorted(at.page.evaluate(shown)) == [6, 6, 12])
    return "one point marked, all of its round shown, 60 rows sorted"


def help(at):
    """Tab and Shift-Tab, as a reader presses them who writes the next cell."""
    n = at.open("help.ipynb")
    n.run(HEAD)
    times = []

    def ask(code, key, answer, wanted):
        code, cursor = code.replace("‸", ""), code.find("‸")
        n.write(code)
        for _ in code[cursor:] if cursor >= 0 else "":
            at.page.keyboard.press("ArrowLeft")
        begin = time.monotonic()

        def shown():
            at.page.keyboard.press(key)  # again, if there was no answer in time
            with contextlib.suppress(Error):
                return until(5, answer, lambda: at.page.evaluate(f"document.querySelector('{answer}:not(.lm-mod-hidden)')?.innerText"), pause=0.02)

        said = until(DRAW_S, f"{answer} on {code!r}", shown)
        times.append(time.monotonic() - begin)
        need(re.search(wanted, said, re.DOTALL), f"{answer} on {code!r} has no {wanted!r}: {said}")
        at.photograph(f"help-{len(times)}")
        at.page.keyboard.press("Escape")
        at.page.evaluate("fedkit.next.model.sharedModel.setSource(''); true")

    # The notebook has none of these words, so Lab cannot offer them without asking the kernel.
    literals = [("%%\ns := strategy.FedAvg{Fra‸}", "Fraction"), ("%%\nfedkit.Run(context.Background(), nil, nil, fedkit.Options{", "Rounds")]
    for code, wanted in [("%%\nplot.P", "Participation"), ("%%\nselection.H", "Hybrid"), *literals]:
        ask(code, "Tab", ".jp-Completer", wanted)
    docs = [("%%\nfedkit.Run", r"func fedkit\.Run\(.*\nRun "), ("%%\nstrategy.FedYogi", r"2003\.00295"), ("%%\ns := strategy.FedProx{Mu‸: 1}", "μ")]
    for code, wanted in docs:
        ask(code, "Shift+Tab", ".jp-Tooltip", wanted)
    return "completion after {:.2f} s, then {:.2f}, {:.2f} and {:.2f}; help after {:.2f}, {:.2f} and {:.2f}".format(*times)


def mistakes(at):
    """Typical mistakes: each says what is wrong, where, and what would be right."""
    n = at.open("mistakes.ipynb")
    n.run(HEAD)
    for name, (cell, sees, never) in MISTAKES.items():
        said, _ = n.run(cell)
        for pattern in sees:
            need(re.search(pattern, said, re.MULTILINE), f"{name}: no {pattern!r} in: {said}")
        for pattern in never:
            need(not re.search(pattern, said), f"{name}: {pattern!r} in: {said}")
        at.photograph(f"mistake-{name}")
    said, _ = n.run('%%\nfmt.Println("still", "there")')
    need(said == "still there", f"a cell after the mistakes shows {said}")
    return f"{len(MISTAKES)} of them"


def last(at):
    """The last line of a cell is shown if it is an expression."""
    n = at.open("last.ipynb")
    n.run(HEAD)
    said, _ = n.run(training("Rounds: 3", "h"))
    need("FedAvg on digits: 5 clients" in said and len(n.figures()) == 1, f"a history shows {said}")
    said, _ = n.run(f"%%\n{FED}\nfed")
    need("5 clients" in said and len(n.figures()) == 2, f"a federation shows {said}")
    n.run(f"%%\n{FED}\nplot.Labels(fed)")
    need(len(n.figures()) == 3, "a figure is not shown")
    said, _ = n.run(training("Rounds: 3", "compare.Table(h)"))
    need(at.page.evaluate("!!fedkit.cells().at(-1).outputArea.node.querySelector('table')"), f"a table shows {said}")
    said, _ = n.run("%%\n1 + 1")
    need(said == "2", f"1 + 1 shows {said}")
    return "a history, a federation, a figure, a table and a number"


def stop(at):
    """The stop button ends a run between two rounds, with its history; it also ends a loop without an end."""
    n = at.open("stop.ipynb")
    n.run(HEAD)
    n.start(training(f"Rounds: {ENDLESS}, Watch: plot.Live()", 'plot.Accuracy(h).Show()\nfmt.Println("finished:", len(h.Rounds) > 5)'))
    until(DRAW_S, "a few rounds", lambda: (m := re.search(rf"round (\d+)/{ENDLESS}", n.text())) and int(m[1]) > 5, pause=0.02)

    def press():
        n.button("interrupt-kernel")
        n.began = time.monotonic()
        return n.end()

    said, run = press()
    need("stopped after round" in said and "finished: true" in said, f"a stopped run shows: {said}")
    need(len(n.figures()) >= 2, "a stopped run has only its live figure: the cell did not go on")
    n.start("%%\nfor {\n}")
    time.sleep(2)
    said, loop = press()
    # Another cell than before, which takes a second to compile. In the instant in which GoNB starts a program it hears no interrupt.
    n.start('%%\nfor {\n\tfmt.Println("again")\n\ttime.Sleep(time.Hour)\n}')
    time.sleep(0.1)
    said, compiling = press()
    need(compiling < 30, f"a cell that was stopped while it was compiled ended after {compiling:.0f} s")
    said, _ = n.run('%%\nfmt.Println("still", "there")')
    need(said == "still there", f"a cell after the stop shows {said}")
    return f"a run ended after {run:.2f} s, a loop after {loop:.2f} s, a cell that was just started after {compiling:.2f} s"


def live(at):
    """The live line is there from the start, and is never far behind the run."""
    n = at.open("live.ipynb")
    n.run(HEAD + """

type watcher interface {
	fedkit.Watcher
	Start(h *fedkit.History, of int)
}

type diary struct {
	watcher
	file *os.File
}

func (d diary) Round(h *fedkit.History, of int) {
	fmt.Fprintln(d.file, len(h.Rounds), time.Now().UnixMilli())
	d.watcher.Round(h, of)
}""")
    diary = at.notebooks / "diary.txt"
    n.start(training("Rounds: 4000, Watch: diary{plot.Live().(watcher), must.M1(os.Create(\"diary.txt\"))}", "fmt.Println(len(h.Rounds))"))
    n.sees(r"compiling|round \d+/4000")
    seen = []

    def watched():
        text, now = at.page.evaluate("[fedkit.text(), Date.now()]")
        if m := re.search(r"round (\d+)/4000", text):
            seen.append((int(m[1]), now))
        return not at.page.evaluate("fedkit.running()")

    until(DRAW_S, "the end of the run", watched, 0.02)
    when = dict(map(int, line.split()) for line in diary.read_text().splitlines())
    late = sorted(now - when[shown + 1] for shown, now in seen if shown > 0 and when.get(shown + 1, now) <= now)
    need(len(late) > 10, f"the line was seen {len(late)} times behind the run, of {len(seen)}: {seen[:20]} {len(when)}")
    return f"in {len(seen)} looks the line was {late[len(late) // 2]} ms behind the run (median; {late[-1]} ms at most)"


# The first two things that a slider says are not heard.
DEAF = """(page => {
    const send = page.send.bind(page)
    let left = 2
    page.send = (to, ...more) => { if (!to.startsWith("explore_") || left-- <= 0) return send(to, ...more) }
})(gonb_comm)"""


def explore(at):
    """A slider that is moved trains again and redraws in place; when the cell is stopped, the last figure stays."""
    n = at.open("explore.ipynb")
    n.run(HEAD)
    n.start(EXPLORE)
    slider, titles = "document.querySelector('.jp-OutputArea input[type=range]')", "document.querySelectorAll('.jp-OutputArea svg.marks').length + ' ' + fedkit.titles()"
    until(DRAW_S, "a slider, and the figure of its default", lambda: at.page.evaluate(f"!!{slider}") and n.figures() and "α is 0.3" in at.page.evaluate(titles))
    took, value = [], "0.3"

    def move(place, value):
        at.page.mouse.click(*at.page.evaluate(f"(() => {{ {slider}.scrollIntoView({{ block: 'nearest' }}); const r = {slider}.getBoundingClientRect(); return [r.x + {place} * r.width, r.y + r.height / 2] }})()"))
        return until(5, "another value", lambda: (now := at.page.evaluate(f"{slider}.nextElementSibling.value")) != value and now, 0.01)

    for place in 0.7, 0.2, 0.8:
        begin = time.monotonic()
        value = move(place, value)
        until(DRAW_S, f"a figure of α = {value}", lambda: f"α is {value} " in at.page.evaluate(titles), 0.01)
        took.append(time.monotonic() - begin)
    need(at.page.evaluate(titles).startswith("1 "), f"figures were added: {at.page.evaluate(titles)}")
    at.photograph("explore-moved")
    n.began = time.monotonic()
    click(at.page, "[...document.querySelectorAll('.jp-OutputArea button')].find(b => b.innerText === 'Stop')")
    said, ended = n.end()
    need(f"α = {value}" in said and not at.page.evaluate(f"!!{slider}") and len(n.figures()) == 1, f"a stopped cell shows {said}")
    at.page.evaluate(DEAF)
    n.start(EXPLORE)
    until(DRAW_S, "the slider again", lambda: at.page.evaluate(f"!!{slider}"))
    value = move(0.7, "0.3")
    until(DRAW_S, f"a figure of α = {value}, though the page was not heard", lambda: f"α is {value} " in at.page.evaluate(titles), 0.01)
    n.button("interrupt-kernel")
    said, _ = n.end()
    need(f"α = {value}" in said and not at.page.evaluate(f"!!{slider}"), f"a cell ended by the stop button shows {said}")
    return f"twenty rounds and a figure {', '.join(f'{t:.2f}' for t in took)} s after a click, ended after {ended:.2f} s"


def pick(at):
    """Figures of a saved notebook that no kernel has drawn: a slider is moved, a menu opened, a brush drawn, a client clicked."""
    path = at.notebooks / "pick.ipynb"
    nb = nbformat.read(path, 4)
    for name in "chart/testdata/pick-menu", "plot/testdata/rounds", "plot/testdata/pcas":
        spec = json.loads((CHART.parent / f"{name}.json").read_text())
        cell = nbformat.v4.new_code_cell(name, execution_count=1)
        cell.outputs = [nbformat.v4.new_output("display_data", {"application/vnd.vegalite.v5+json": spec, "text/plain": name},
                        metadata={"application/vnd.vegalite.v5+json": {"embed_options": {"defaultStyle": (CHART / "embed.css").read_text()}}})]
        nb.cells.append(cell)
    nbformat.write(nb, path)
    n = at.open("pick.ipynb")
    n.figures()
    svg, look = "[...document.querySelectorAll('.jp-OutputArea svg.marks')]", lambda: at.page.evaluate("fedkit.titles()")
    where = lambda marks, i=0: at.page.evaluate(f"(() => {{ const r = document.querySelectorAll('.jp-OutputArea {marks}')[{i}].getBoundingClientRect(); return [r.x, r.y, r.width, r.height] }})()")
    need("after 20" in look(), look())
    x, y, w, h = where("input[type=range]")
    at.page.mouse.click(x + w / 2, y + h / 2)
    until(DRAW_S, "the figure after round 10", lambda: "after 10" in look(), 0.05)
    at.page.evaluate("(e => { e.value = \"Fed's\"; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')) })(document.querySelector('.jp-OutputArea .vega-bind select')); true")
    until(DRAW_S, "the other method", lambda: "after 10, again" in look(), 0.05)
    for theme in "Dark", "Light":
        at.theme(theme)
        dim = at.page.evaluate("fedkit.dim('.jp-OutputArea .vega-bind label, .jp-OutputArea .vega-bind select', 'color')")
        need(not dim, f"{theme}: hard to read: {dim}")
        at.photograph(f"pick-{theme}")
    ticks = lambda: at.page.evaluate(f"{svg}[1].textContent")
    before = ticks()
    at.page.evaluate(f"{svg}[1].scrollIntoView({{ block: 'center' }}); true")

    def brush():  # again, if the figure was just being drawn for the other theme
        x, y, w, h = where("svg.marks:has(g.mark-line) .concat_0_group path.background")
        at.page.mouse.move(x + 0.3 * w, y + h / 2)
        at.page.mouse.down()
        at.page.mouse.move(x + 0.5 * w, y + h / 2, steps=4)
        at.page.mouse.up()
        time.sleep(1)
        return ticks() != before

    until(DRAW_S, "the map of other rounds", brush)
    at.photograph("pick-brushed")
    x, y, w, h = where("svg.marks:has(g.mark-line) .concat_1_group path.background")
    at.page.mouse.click(x + w / 2, y + h / 12)
    until(DRAW_S, "the clicked client", lambda: "Client 5" in ticks(), 0.05)
    at.photograph("pick-clicked")
    for i in 0, 4:  # of both maps
        at.page.evaluate(f"{svg}[2].scrollIntoView({{ block: 'center' }}); true")
        x, y, w, h = where("svg.marks:not(:has(g.mark-line)):has(g.mark-rect) g.mark-symbol.role-mark path", i)
        at.page.mouse.click(x + w / 2, y + h / 2)
        until(DRAW_S, "the client of a dot", lambda: f"Client {i % 4}" in at.page.evaluate(f"{svg}[2].textContent"), 0.05)
    return "a slider, a menu, a brush, and clicks in three maps"


def reload(at):
    """A page closed in mid-run: another notebook shows the progress, the stop button works, and the same cell goes on from there."""
    at.open("reload_more.ipynb").run(HEAD)
    n = at.also("reload.ipynb")
    n.run(HEAD)
    cell = training(f"Rounds: {ENDLESS}, Watch: plot.Live(), Checkpoint: \"run.checkpoint\"", "plot.Accuracy(h).Show()")
    n.start(cell)
    n.sees(r"round \d\d+/")
    at.leave()
    other = at.open("reload_more.ipynb")
    other.start('%%\nh := must.M1(plot.Follow("run.checkpoint"))\nfmt.Println("followed", len(h.Rounds))')
    seen = int(other.sees(rf"round (\d+)/{ENDLESS}")[1])
    other.figures()
    at.photograph("reload-followed")
    n = at.also("reload.ipynb")
    n.button("interrupt-kernel")
    other.look()
    stopped = int(other.sees(r"ended after round (\d+)")[1])
    need(other.sees(r"followed (\d+)")[1] == str(stopped) and stopped > seen, f"{seen} rounds were seen, {stopped} done: {other.text()}")
    n.look()
    n.start(cell)
    again = int(n.sees(rf"round (\d+)/{ENDLESS}")[1])
    n.button("interrupt-kernel")
    said, _ = n.end()
    need(again >= stopped and "stopped after round" in said, f"stopped after round {stopped}, went on from {again}: {said}")
    need(len(n.figures()) >= 2, "the cell run again has not drawn its figures")
    return f"followed from another notebook, stopped after round {stopped}, gone on"


def death(at):
    """The kernel is killed in mid-run: Lab says so, and the next cell runs in a new one."""
    n = at.open("death.ipynb")
    n.run(HEAD)
    n.start(training(f"Rounds: {ENDLESS}", "h"))
    until(DRAW_S, "the cell running", lambda: any(p.name().startswith("gonb_") for p in psutil.Process(kernel(n)).children()))
    pid = kernel(n)
    cells = [p for p in psutil.Process(pid).children() if p.name().startswith("gonb_")]
    need(len(cells) == 1, f"{len(cells)} processes are the running cell")
    os.kill(pid, signal.SIGKILL)
    said = until(DRAW_S, "a word about the death", lambda: at.page.evaluate("document.querySelector('.jp-Dialog')?.innerText"))
    need("died" in said, f"Lab says {said}")
    at.photograph("death-said")
    click(at.page, "document.querySelector('.jp-Dialog button.jp-mod-accept')")
    n.look()
    n.run(HEAD)
    said, _ = n.run('%%\nfmt.Println("born", "again")')
    need(said == "born again", f"a cell after the death shows {said}")
    until(5, "the end of the dead kernel's cell", lambda: not cells[0].is_running())
    return "a new kernel took over"


def kernel(n):
    """Returns the process of a notebook's kernel."""
    connection = n.page.evaluate("fedkit.panel.sessionContext.session.kernel.id")
    found = [p.pid for p in psutil.process_iter(["name", "cmdline"]) if p.info["name"] == "gonb" and connection in " ".join(p.info["cmdline"])]
    need(len(found) == 1, f"{len(found)} processes are this notebook's kernel")
    return found[0]


def two(at):
    """Two notebooks at once have the same result as one."""
    cell = training("Rounds: 60, Seed: 5, Watch: plot.Live()", 'fmt.Printf("%x\\n", h.Last().Global.Loss)')
    a = at.open("two.ipynb")
    a.run(HEAD)
    alone, _ = a.run(cell)
    b = at.also("two_more.ipynb")
    b.run(HEAD)
    b.start(cell)
    a.look()
    a.start(cell)
    first, _ = a.end()
    b.look()
    second, _ = b.end()
    results = {s.splitlines()[-1] for s in (alone, first, second)}
    need(len(results) == 1, f"the losses differ: {results}")
    return "the same loss"


MORE = ["reload_more", "two_more"]  # notebooks that cases need besides their own
ALL = {f.__name__: f for f in (first, opened, last, legend, touch, help, mistakes, stop, live, explore, pick, reload, death, two, figures)}
