// What the check asks of JupyterLab. `path` is the notebook that is looked at.
globalThis.FIGURES = '.jp-OutputArea canvas, .jp-OutputArea svg.marks'
globalThis.fedkit ??= {
  path: undefined,
  get panel() { return [...(globalThis.jupyterapp?.shell?.widgets('main') ?? [])].find(w => w.context?.path === this.path) },
  ready(path) {
    this.path = path
    const p = this.panel, k = p?.sessionContext?.session?.kernel
    // Its status stays 'unknown' until the first cell, since GoNB announces none at the start.
    if (!p?.context?.isReady || !p.sessionContext.isReady || k?.connectionStatus !== 'connected' || !k.name) return
    // Otherwise cells out of sight are not drawn.
    p.content.notebookConfig = { ...p.content.notebookConfig, windowingMode: 'none' }
    jupyterapp.shell.activateById(p.id)
    return k.name
  },
  button(command) { return this.panel.toolbar.node.querySelector(`[data-command="${command}"]`) },
  code() { return this.panel.content.widgets.filter(c => c.model.type === 'code') },
  cells() { return this.code().filter(c => c.model.sharedModel.source.trim()) },
  // The last cell, where the next one is typed.
  get next() { return this.code().at(-1) },
  source() { return this.next?.model.sharedModel.source },
  outputs(cell) { return cell.model.outputs.toJSON() },
  // What a reader sees below the last cell.
  text() { return this.cells().at(-1).outputArea.node.innerText },
  // Whether the last cell waits or runs: Lab then shows [*] beside it.
  running() { return this.cells().at(-1).node.querySelector('.jp-InputPrompt').innerText.includes('*') },
  show() { this.cells().at(-1).node.scrollIntoView({ block: 'start' }); return true },
  state() {
    const cells = this.cells()
    const errors = cells.flatMap((c, i) => this.outputs(c).filter(o => o.output_type === 'error').map(o => `cell ${i + 1}: ${o.evalue}`))
    const idle = this.panel.sessionContext.session.kernel.status === 'idle'
    return { cells: cells.length, done: cells.filter(c => c.model.executionCount).length, errors, idle }
  },
  // For each Vega figure: how many pixels of its canvas differ from the first one, or how many marks its SVG has.
  figures() {
    const vega = o => Object.keys(o.data ?? {}).some(m => m.startsWith('application/vnd.vega'))
    return this.cells().flatMap(cell => {
      const wanted = this.outputs(cell).filter(vega).length
      const shown = [...cell.node.querySelectorAll(FIGURES)].map(this.ink)
      return [...shown, ...Array(Math.max(0, wanted - shown.length)).fill(0)].slice(0, wanted)
    })
  },
  // How many figures have no PNG, which JupyterLab adds to what it saves.
  bare() { return this.cells().flatMap(c => this.outputs(c)).filter(o => o.data?.['application/vnd.vegalite.v5+json'] && !o.data['image/png']).length },
  ink(figure) {
    if (figure.tagName !== 'CANVAS') return figure.querySelectorAll('[class*=mark-] path, [class*=mark-] line, [class*=mark-] image').length
    if (!figure.width || !figure.height) return 0
    const d = new Uint32Array(figure.getContext('2d').getImageData(0, 0, figure.width, figure.height).data.buffer)
    return d.reduce((n, x) => n + (x !== d[0]), 0)
  },
  // Figures that are cut off, or so small that their text of 11 pixels is shown with less than 9.
  outside() {
    return [...this.panel.node.querySelectorAll('.jp-OutputArea-output')].flatMap(output => {
      const right = output.getBoundingClientRect().right
      return [...output.querySelectorAll('svg.marks')].filter(figure => {
        const shown = figure.getBoundingClientRect()
        return output.scrollWidth > output.clientWidth || shown.right > right + 1 || shown.width < 9 / 11 * figure.getAttribute('width')
      }).map(figure => `${Math.round(figure.getBoundingClientRect().width)} of ${figure.getAttribute('width')} in ${output.clientWidth}: ${figure.textContent.slice(0, 60)}`)
    })
  },
  // Texts of figures whose contrast to the page is less than 3, but what is hidden: a note that stands over another figure of the row.
  dim(texts = '.jp-OutputArea svg.marks text', paint = 'fill') {
    const light = c => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
    const page = light(getComputedStyle(this.panel.content.node).backgroundColor)
    const found = []
    for (const t of document.querySelectorAll(texts)) {
      const own = light(getComputedStyle(t)[paint])
      const contrast = (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05)
      if (t.textContent.trim() && getComputedStyle(t)[paint] !== 'rgba(0, 0, 0, 0)' && contrast < 3) found.push(`${t.textContent}: ${contrast.toFixed(1)}`)
    }
    return found
  },
  // The texts of figures that are drawn.
  titles() { return [...document.querySelectorAll('.jp-OutputArea svg.marks text')].map(t => t.textContent).join(' ') },
  figure(i) { this.cells().flatMap(c => [...c.node.querySelectorAll(FIGURES)])[i]?.scrollIntoView({ block: 'start' }) },
}; true
