'use strict';
(() => {
const $ = id => document.getElementById(id);
const D = JSON.parse($('drawing').textContent);
for (const list of ['rails', 'names', 'stages']) D[list] ||= []; // null for an empty run
const C = D.columns;

// decode returns the numbers of a column.
function decode(text, type) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new type(bytes.buffer);
}
const stage = decode(C.stage, Uint8Array), attempt = decode(C.attempt, Uint8Array), load = decode(C.load, Uint8Array);
const round = decode(C.round, Uint16Array), from = decode(C.from, Int32Array), to = decode(C.to, Int32Array);
const fromRail = decode(C.fromRail, Int16Array), toRail = decode(C.toRail, Int16Array);
const gbps = decode(C.gbps, Float32Array), latencyAt = decode(C.latency, Uint32Array);
const p50 = decode(C.p50, Float32Array), p99 = decode(C.p99, Float32Array);
const run = JSON.parse($('run').textContent);
const failures = new Map(); // by sample
for (let i = 0; i < C.failures.length; i += 3) failures.set(C.failures[i], [C.failures[i + 1], C.failures[i + 2]]);

// A map has at most this many rows; with more nodes, a row stands for several of them.
const maxSide = 1024;
const nodes = D.names.length, per = Math.max(1, Math.ceil(nodes / maxSide)), side = Math.ceil(nodes / per);
const railIndex = new Map(D.rails.map((r, i) => [r, i]));

const jitter = i => Math.max(p99[i] - p50[i], 0) * D.time;
const metrics = [
  {name: 'bandwidth', unit: 'Gb/s', stage: 'pairs'},
  {name: 'latency, median', unit: 'µs', of: i => p50[i] * D.time, load: 0},
  {name: 'latency, 99th percentile', unit: 'µs', of: i => p99[i] * D.time, load: 0},
  {name: 'jitter (99th percentile minus median)', unit: 'µs', of: jitter, load: 0},
  {name: 'latency under load, median', unit: 'µs', of: i => p50[i] * D.time, load: 1},
  {name: 'latency under load, 99th percentile', unit: 'µs', of: i => p99[i] * D.time, load: 1},
  {name: 'jitter under load', unit: 'µs', of: jitter, load: 1},
];

// build fills the maps of all rails for a metric: value[cell] is NaN for none and Infinity for a
// failure, sample[cell] is the sample that it is from, the worst one of the cell.
function build(m) {
  if (m.maps) return;
  m.maps = D.rails.map(() => ({value: new Float32Array(side * side).fill(NaN), sample: new Int32Array(side * side).fill(-1)}));
  m.low = Infinity; m.high = -Infinity;
  const put = (map, a, b, v, i) => {
    const cell = Math.floor(a / per) * side + Math.floor(b / per), old = map.value[cell];
    const worse = m.of ? v > old : v === Infinity ? old !== Infinity : v < old;
    if (old !== old || worse && old !== Infinity) { map.value[cell] = v; map.sample[cell] = i; }
  };
  const add = (i, v, both) => {
    if (fromRail[i] !== toRail[i] || from[i] === to[i]) return;
    const map = m.maps[railIndex.get(fromRail[i])];
    if (v !== Infinity) { if (v < m.low) m.low = v; if (v > m.high) m.high = v; }
    put(map, from[i], to[i], v, i);
    if (both) put(map, to[i], from[i], v, i);
  };
  if (m.of) {
    for (let k = 0; k < latencyAt.length; k++) if (load[latencyAt[k]] === m.load) add(latencyAt[k], m.of(k), true);
    for (const i of failures.keys()) {
      if (run.stages[stage[i]].kind === 'latency' && load[i] === m.load) add(i, Infinity, true);
    }
  } else {
    for (let i = 0; i < C.count; i++) {
      if (run.stages[stage[i]].name !== m.stage) continue;
      if (failures.has(i)) add(i, Infinity, false); else if (gbps[i] > 0) add(i, gbps[i] * D.rate, false);
    }
  }
  m.any = m.low <= m.high;
  if (!m.any) { m.low = 0; m.high = 1; return; }
  if (m.of) { m.low = Math.max(m.low, 0.01); m.high = Math.max(m.high, m.low * 2); } // logarithmic
  else m.low = Math.min(m.low, 0.75 * m.high); // so that noise doesn't look like a fault
}

// badness returns 0 for the best value of a metric and 1 for the worst.
const badness = (m, v) => m.of ? Math.log(Math.max(v, m.low) / m.low) / Math.log(m.high / m.low) : (m.high - v) / (m.high - m.low);

// The worst values have the colour that differs most from the background.
const media = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (document.documentElement.dataset.theme || (media.matches ? 'dark' : 'light')) === 'dark';
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function rgba(hex) { const n = parseInt(hex.slice(1), 16); return (0xff000000 | (n & 255) << 16 | (n >> 8 & 255) << 8 | n >> 16) >>> 0; }
let palette, failedColor = rgba(D.failed);
function setPalette() {
  palette = Uint32Array.from(D.ramp, rgba);
  if (!isDark()) palette = palette.slice(0, -5).reverse(); // the lightest ones are too close to white
}
function colorOf(m, v) {
  if (v !== v) return 0;
  if (v === Infinity) return failedColor;
  return palette[Math.min(palette.length - 1, Math.max(0, Math.floor(badness(m, v) * palette.length)))];
}

// worseOf returns the worse of two values of a metric; NaN is better than any.
function worseOf(m, a, b) {
  if (a !== a) return b;
  if (b !== b) return a;
  return a === Infinity || b === Infinity ? Infinity : m.of ? Math.max(a, b) : Math.min(a, b);
}

// picture draws span rows and columns from x, y on into a canvas of its own, of at most most pixels:
// of the cells that share a pixel, the worst one is visible.
function picture(m, map, x0, y0, span, most) {
  const by = Math.ceil(span / most), n = Math.ceil(span / by);
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = n;
  const ctx = canvas.getContext('2d'), image = ctx.createImageData(n, n), pixels = new Uint32Array(image.data.buffer);
  for (let y = 0; y < n; y++) for (let x = 0; x < n; x++) {
    let v = NaN;
    for (let dy = 0; dy < by; dy++) for (let dx = 0; dx < by; dx++) {
      const row = y0 + y * by + dy, column = x0 + x * by + dx;
      if (row < side && column < side) v = worseOf(m, v, map.value[row * side + column]);
    }
    pixels[y * n + x] = colorOf(m, v);
  }
  ctx.putImageData(image, 0, 0);
  return {canvas, by, n};
}

const view = {x: 0, y: 0, span: side}, at = {x: 0, y: 0};
let metric = metrics[0], rail = Math.max(0, railIndex.get(D.first) ?? 0), margin = 0, size = 0, ratio = 1;
let block = 1; // rows and columns that are drawn as one cell
let active = false; // whether a cell was chosen
const mapCanvas = $('map'), over = $('over'), tip = $('tip');
const fmt = v => v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2);
const nameOf = i => D.names[i];
const rowName = y => per === 1 ? nameOf(y) : nameOf(y * per) + ' … ' + nameOf(Math.min(nodes, (y + 1) * per) - 1);

function layout() {
  const room = $('maps').clientWidth;
  margin = 8 * Math.min(14, Math.max(...D.names.slice(0, 64).map(n => n.length)) + 1);
  size = Math.max(240, Math.min(700, room - margin - 8, 64 * view.span));
  const cell = Math.floor(size / view.span);
  if (cell > 3) size = cell * view.span; // equal cells
  ratio = window.devicePixelRatio || 1;
  for (const c of [mapCanvas, over]) {
    c.width = Math.round((size + margin + 8) * ratio); c.height = Math.round((size + margin + 8) * ratio);
    c.style.width = c.style.height = size + margin + 8 + 'px';
  }
}

function drawMap() {
  layout();
  const ctx = mapCanvas.getContext('2d'), map = metric.maps[rail], cell = size / view.span;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, size + margin + 8, size + margin + 8);
  ctx.fillStyle = css('--none');
  ctx.fillRect(margin, margin, size, size);
  const p = picture(metric, map, view.x, view.y, view.span, Math.max(1, Math.floor(size / leastCell(map))));
  block = p.by;
  const drawn = p.n * p.by / view.span * size;
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(p.canvas, margin, margin, drawn, drawn);
  ctx.strokeStyle = css('--line'); ctx.lineWidth = 1;
  ctx.strokeRect(margin - .5, margin - .5, size + 1, size + 1);
  if (cell >= 7) crosses(ctx, map, cell);
  labels(ctx, cell);
}

// leastCell returns the least size of a cell in pixels: larger ones, which show the worst of several
// pairs, if only few of the pairs were measured and single ones would be lost.
function leastCell(map) {
  if (map.share === undefined) {
    let n = 0;
    for (const v of map.value) if (v === v) n++;
    map.share = n / map.value.length;
  }
  return map.share < 0.3 ? 5 : 1;
}

// worstIn returns the cell with the worst value of the block that x, y is in.
function worstIn(x, y) {
  const m = metric, map = m.maps[rail], first = (v, from) => Math.max(0, from + Math.floor((v - from) / block) * block);
  const x0 = first(x, view.x), y0 = first(y, view.y);
  let best = {x, y}, worst = NaN;
  for (let b = y0; b < Math.min(side, y0 + block); b++) for (let a = x0; a < Math.min(side, x0 + block); a++) {
    const v = map.value[b * side + a];
    if (v === v && (worst !== worst || worseOf(m, v, worst) !== worst)) { worst = v; best = {x: a, y: b}; }
  }
  return best;
}

// crosses marks failed cells by more than their colour.
function crosses(ctx, map, cell) {
  ctx.strokeStyle = '#000'; ctx.lineWidth = 1; ctx.beginPath();
  for (let y = 0; y < view.span; y++) for (let x = 0; x < view.span; x++) {
    if (map.value[(view.y + y) * side + view.x + x] !== Infinity) continue;
    const l = margin + x * cell + 2, t = margin + y * cell + 2, s = cell - 4;
    ctx.moveTo(l, t); ctx.lineTo(l + s, t + s); ctx.moveTo(l + s, t); ctx.lineTo(l, t + s);
  }
  ctx.stroke();
}

function labels(ctx, cell) {
  const every = Math.max(1, Math.ceil(13 / cell)), most = Math.floor(margin / 7.2);
  ctx.fillStyle = css('--dim'); ctx.font = '12px ui-monospace, monospace'; ctx.textBaseline = 'middle';
  for (let i = 0; i < view.span; i += every) {
    const cut = i0 => { const n = nameOf(i0 * per); return n.length > most ? n.slice(0, most - 1) + '…' : n; };
    const mid = margin + (i + 0.5) * cell;
    ctx.textAlign = 'right';
    ctx.fillText(cut(view.y + i), margin - 5, mid);
    ctx.save(); ctx.translate(mid, margin - 5); ctx.rotate(-Math.PI / 2); ctx.textAlign = 'left';
    ctx.fillText(cut(view.x + i), 0, 0); ctx.restore();
  }
}

// mark draws what points at the current cell: only this is drawn while the pointer moves.
function mark() {
  const ctx = over.getContext('2d'), cell = size / view.span;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, size + margin + 8, size + margin + 8);
  const x = at.x - view.x, y = at.y - view.y;
  if (!active || x < 0 || y < 0 || x >= view.span || y >= view.span) return;
  const l = margin + x * cell, t = margin + y * cell;
  ctx.strokeStyle = css('--fg'); ctx.lineWidth = 1; ctx.globalAlpha = 0.55;
  ctx.strokeRect(margin + .5, t - .5, size - 1, cell + 1); ctx.strokeRect(l - .5, margin + .5, cell + 1, size - 1);
  ctx.globalAlpha = 1; ctx.lineWidth = 2;
  ctx.strokeRect(l - 2, t - 2, cell + 4, cell + 4);
}

function cellText(x, y) {
  const cell = y * side + x, map = metric.maps[rail], v = map.value[cell], i = map.sample[cell];
  const scale = D.scale ? '\n' + D.scale : '';
  if (per === 1 && x === y) return nameOf(x) + ': the node itself';
  const head = rowName(y) + ' → ' + rowName(x) + ', rail ' + D.rails[rail] + '\n';
  if (i < 0) return head + 'not measured';
  const n = block * per;
  const where = (n > 1 ? 'the worst of ' + n + ' × ' + n + ' pairs here' + (per > 1 ? ': ' + nameOf(from[i]) + ' → ' + nameOf(to[i]) : '') + ', ' :
    '') + 'stage ' + D.stages[stage[i]] +
    (attempt[i] ? ', retest ' + attempt[i] : ', round ' + (round[i] + 1));
  if (v === Infinity) { const f = failures.get(i); return head + 'failed at ' + f[0] + ': ' + f[1] + '\n' + where; }
  return head + metric.name + ' ' + fmt(v) + ' ' + metric.unit + '\n' + where + scale;
}

function showTip() {
  const cell = size / view.span, x = at.x - view.x, y = at.y - view.y;
  tip.textContent = cellText(at.x, at.y);
  tip.hidden = false;
  const left = margin + (x + 1) * cell + 10, top = margin + (y + 1) * cell + 10;
  const flip = left + tip.offsetWidth > Math.max(size + margin, $('maps').clientWidth);
  tip.style.transform = 'translate(' + (flip ? Math.max(0, left - tip.offsetWidth - cell - 20) : left) + 'px,' + top + 'px)';
}

// go makes a cell the current one. say is set for keys and buttons: the text is then read out.
function go(x, y, say) {
  active = true;
  at.x = Math.min(side - 1, Math.max(0, x)); at.y = Math.min(side - 1, Math.max(0, y));
  const keep = v => {
    const first = view[v];
    view[v] = Math.min(Math.max(view[v], at[v] - view.span + 1), at[v]);
    return view[v] !== first;
  };
  const movedX = keep('x'), movedY = keep('y');
  if (movedX || movedY) drawMap();
  mark();
  showTip();
  if (say) $('cell').textContent = cellText(at.x, at.y);
}

function zoom(factor) {
  const span = Math.min(side, Math.max(Math.min(4, side), Math.round(view.span * factor)));
  view.span = span;
  view.x = Math.min(side - span, Math.max(0, at.x - (span >> 1)));
  view.y = Math.min(side - span, Math.max(0, at.y - (span >> 1)));
  drawMap(); mark(); tip.hidden = true;
}

// worstOf returns the cells with the worst values of a map, the worst first.
function worstOf(m, map, most) {
  const bad = [];
  let limit = -1;
  for (let c = 0; c < map.value.length; c++) {
    const v = map.value[c];
    if (v !== v) continue;
    const b = v === Infinity ? Infinity : badness(m, v);
    if (bad.length === most && b <= limit) continue;
    if (m.of && map.sample[c] >= 0 && per === 1 && c % side < Math.floor(c / side)) continue; // its mirror image
    bad.push({c, b});
    bad.sort((p, q) => q.b === p.b ? p.c - q.c : q.b - p.b);
    if (bad.length > most) bad.pop();
    limit = bad[bad.length - 1].b;
  }
  return bad.map(e => e.c);
}

let worst = [], next = 0;
function list() {
  worst = worstOf(metric, metric.maps[rail], 10); next = 0;
  $('worsthead').textContent = worst.length ? 'Worst of rail ' + D.rails[rail] + (D.label ? ' (' + D.label + ')' : '') :
    'Rail ' + D.rails[rail] + ': nothing was measured';
  $('list').replaceChildren(...worst.map(c => {
    const item = document.createElement('li'), button = document.createElement('button');
    const y = Math.floor(c / side), x = c % side, v = metric.maps[rail].value[c];
    button.type = 'button';
    button.textContent = rowName(y) + ' → ' + rowName(x) + ': ' + (v === Infinity ? 'failed' : fmt(v) + ' ' + metric.unit);
    button.onclick = () => go(x, y, true);
    item.append(button);
    return item;
  }));
}

function legend() {
  const c = $('legend'), ctx = c.getContext('2d'), image = ctx.createImageData(c.width, c.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = palette[Math.floor(i % c.width / c.width * palette.length)];
  ctx.putImageData(image, 0, 0);
  const ends = metric.of ? [metric.low, metric.high] : [metric.high, metric.low];
  $('best').textContent = metric.any ? 'best: ' + fmt(ends[0]) + ' ' + metric.unit : '';
  $('worst').textContent = metric.any ? 'worst: ' + fmt(ends[1]) + ' ' + metric.unit : '';
}

function thumbs() {
  const buttons = D.rails.map((r, i) => {
    const button = document.createElement('button'), canvas = document.createElement('canvas');
    const p = picture(metric, metric.maps[i], 0, 0, side, 104 / Math.min(2, leastCell(metric.maps[i])));
    canvas.width = canvas.height = 104 * (window.devicePixelRatio || 1);
    const ctx = canvas.getContext('2d');
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(p.canvas, 0, 0, canvas.width, canvas.width);
    button.type = 'button';
    button.setAttribute('aria-pressed', String(i === rail));
    button.append(canvas, 'rail ' + r);
    button.onclick = () => setRail(i);
    return button;
  });
  $('rails').replaceChildren(...buttons);
}

function setRail(i) {
  rail = (i + D.rails.length) % D.rails.length;
  [...$('rails').children].forEach((b, k) => b.setAttribute('aria-pressed', String(k === rail)));
  over.setAttribute('aria-label', metric.name + ' of rail ' + D.rails[rail]);
  tip.hidden = true;
  drawMap(); mark(); list();
}

function setMetric(m) {
  metric = m;
  build(m);
  legend(); thumbs(); setRail(rail);
}

function redraw() { setPalette(); if (!D.rails.length) return; legend(); thumbs(); drawMap(); mark(); }

// Pointer: at most one mark for each frame.
let pending = null;
function pointed(e) {
  const box = over.getBoundingClientRect(), cell = size / view.span;
  const x = Math.floor((e.clientX - box.left - margin) / cell), y = Math.floor((e.clientY - box.top - margin) / cell);
  return x < 0 || y < 0 || x >= view.span || y >= view.span ? null : worstIn(x + view.x, y + view.y);
}
over.addEventListener('pointermove', e => {
  if (!pending) requestAnimationFrame(() => {
    const p = pointed(pending);
    pending = null;
    if (!p) { tip.hidden = true; return; }
    go(p.x, p.y, false);
  });
  pending = e;
});
over.addEventListener('pointerleave', () => { tip.hidden = true; });
over.addEventListener('click', e => { const p = pointed(e); if (p) go(p.x, p.y, true); });
over.addEventListener('dblclick', () => zoom(0.5));
over.addEventListener('keydown', e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  const by = (e.shiftKey ? 10 : 1) * block;
  const move = (x, y) => {
    const limit = v => Math.min(side - 1, Math.max(0, v));
    const p = worstIn(limit(at.x + x), limit(at.y + y));
    go(p.x, p.y, true);
  };
  const keys = {
    ArrowLeft: () => move(-by, 0), ArrowRight: () => move(by, 0), ArrowUp: () => move(0, -by), ArrowDown: () => move(0, by),
    Home: () => go(0, at.y, true), End: () => go(side - 1, at.y, true),
    PageUp: () => { setRail(rail - 1); go(at.x, at.y, true); }, PageDown: () => { setRail(rail + 1); go(at.x, at.y, true); },
    w: () => { if (worst.length) { const c = worst[next++ % worst.length]; go(c % side, Math.floor(c / side), true); } },
    '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => zoom(side), Escape: () => { tip.hidden = true; },
  };
  const action = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (action) { action(); e.preventDefault(); }
});
$('in').onclick = () => zoom(0.5);
$('out').onclick = () => zoom(2);
$('all').onclick = () => zoom(side);

// Theme.
const themes = ['', 'light', 'dark'];
let theme = 0;
function setTheme() {
  if (themes[theme]) document.documentElement.dataset.theme = themes[theme];
  else delete document.documentElement.dataset.theme;
  $('theme').textContent = 'theme: ' + (themes[theme] || 'as the system');
}
$('theme').onclick = () => { theme = (theme + 1) % themes.length; setTheme(); redraw(); };
media.addEventListener('change', redraw);
addEventListener('beforeprint', () => { document.documentElement.dataset.theme = 'light'; redraw(); });
addEventListener('afterprint', () => { setTheme(); redraw(); });
let resized = 0;
addEventListener('resize', () => { cancelAnimationFrame(resized); resized = requestAnimationFrame(() => { if (D.rails.length) { drawMap(); mark(); } }); });

// Copying.
async function copy(button) {
  const text = button.parentElement.querySelector('pre');
  try { await navigator.clipboard.writeText(text.textContent); } catch {
    getSelection().selectAllChildren(text); // old browsers, and pages without the right to write
    document.execCommand('copy');
  }
  button.textContent = 'copied';
}
document.querySelectorAll('[data-copy]').forEach(b => { b.hidden = false; b.onclick = () => copy(b); });
document.querySelectorAll('[data-node]').forEach(b => {
  b.hidden = false;
  b.onclick = () => {
    const r = railIndex.get(Number(b.dataset.rail));
    if (r !== undefined) setRail(r);
    const y = Math.floor(Number(b.dataset.node) / per);
    over.focus();
    go(y === 0 ? 1 : 0, y, true);
    over.scrollIntoView({block: 'center'});
  };
});

// Downloads.
function save(parts, type, extension) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, {type}));
  link.download = D.file + extension;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
// shortest returns the shortest number that is this float32.
function shortest(v) {
  for (let p = 1; p < 10; p++) { const n = Number(v.toPrecision(p)); if (Math.fround(n) === v) return n; }
  return v;
}
function details() {
  const out = new Map();
  for (const line of $('details').textContent.split('\n')) {
    const space = line.indexOf(' ');
    if (space > 0) out.set(Number(line.slice(0, space)), line.slice(space + 1));
  }
  return out;
}
// chunks joins lines in parts of some thousand, because one text of all would be too long.
function chunks(first, line, last) {
  const parts = [first];
  for (let i = 0; i < C.count;) {
    const lines = [];
    for (const end = Math.min(C.count, i + 5000); i < end; i++) lines.push(line(i));
    parts.push(lines.join(''));
  }
  parts.push(last);
  return parts;
}
// json returns the run as it was read, for "rdmactl cluster report" and other programs.
function json() {
  const more = details();
  return chunks('{"samples": [\n', i => (i ? ',\n' : '') + '{"s":' + stage[i] + (attempt[i] ? ',"a":' + attempt[i] : '') + ',"i":' + round[i] +
    ',"f":{"n":' + from[i] + ',"r":' + fromRail[i] + '},"t":{"n":' + to[i] + ',"r":' + toRail[i] + '}' + (load[i] ? ',"l":true' : '') +
    (gbps[i] ? ',"g":' + shortest(gbps[i]) : '') + (more.has(i) ? ',"d":' + more.get(i) : '') + '}',
  '\n],\n' + $('run').textContent.trim().slice(1) + '\n');
}
// quoted returns a field of a CSV file that no spreadsheet takes for a formula.
function quoted(text) { return '"' + (/^[=+\-@\t\r]/.test(text) ? "'" : '') + text.replaceAll('"', '""') + '"'; }
function csv() {
  const latency = new Map();
  latencyAt.forEach((i, k) => latency.set(i, k));
  const names = D.names.map(quoted), stages = D.stages.map(quoted), scale = quoted(D.scale || 'hardware');
  return chunks('stage,attempt,round,from,from_rail,to,to_rail,load,gbps,latency_p50_us,latency_p99_us,failure,scale\r\n', i => {
    const k = latency.get(i), f = failures.get(i);
    return [stages[stage[i]], attempt[i], round[i], names[from[i]], fromRail[i], names[to[i]], toRail[i], load[i],
      gbps[i] ? shortest(gbps[i]) : '', k === undefined ? '' : shortest(p50[k]), k === undefined ? '' : shortest(p99[k]),
      f ? quoted(f[0] + ': ' + f[1]) : '', scale].join() + '\r\n';
  }, '');
}
$('json').onclick = () => save(json(), 'application/json', '.json');
$('csv').onclick = () => save(csv(), 'text/csv', '.csv');

for (const id of ['theme', 'json', 'csv']) $(id).hidden = false;
setPalette();
setTheme();
if (!D.rails.length) return; // nothing to draw
$('interactive').hidden = false;
$('metric').append(...metrics.map((m, i) => new Option(m.name, i)));
$('metric').onchange = e => setMetric(metrics[e.target.value]);
setMetric(metrics[0]);
})();
