// Bar charts of two parts: what was, solid, and what was spared, hatched behind it. A table
// for screen readers goes with every chart.

import { el, svg } from './dom.js';

let ids = 0;

// bars draws rows of {label, tick, a, b} as stacked bars, scaled to the largest a+b. names
// are what a and b are; write writes a figure; onpick, if given, gets a row that is clicked.
export function bars(rows, { names, write, title, height = 150 }) {
  const most = niceTop(Math.max(...rows.map((r) => r.a + r.b), 0));
  const width = 600;
  const low = height - 22;
  const step = width / rows.length;
  const wide = Math.max(2, Math.min(step * 0.72, 40));
  const y = (v) => low - (v / (most || 1)) * (low - 16);
  const hatch = 'hatch' + ++ids;
  const chart = svg('svg', { class: 'bars', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', preserveAspectRatio: 'none' });
  chart.append(svg('defs', {}, svg('pattern', { id: hatch, width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('rect', { width: 5, height: 5, class: 'hatch-ground' }), svg('rect', { width: 1.5, height: 5, class: 'hatch-line' }))));
  for (const v of most ? [most / 2, most] : []) {
    chart.append(svg('line', { x1: 0, x2: width, y1: y(v), y2: y(v), class: 'grid' }));
  }
  chart.append(svg('line', { x1: 0, x2: width, y1: low, y2: low, class: 'axis' }));
  const hits = [];
  rows.forEach((r, i) => {
    const x = i * step + (step - wide) / 2;
    const g = svg('g', { class: 'bar' },
      svg('rect', { x: i * step, y: 0, width: step, height: low, class: 'hit' }),
      r.a > 0 ? svg('rect', { x, y: y(r.a), width: wide, height: low - y(r.a), class: 'solid' }) : null,
      r.b > 0 ? svg('rect', { x, y: y(r.a + r.b), width: wide, height: y(r.a) - y(r.a + r.b), fill: `url(#${hatch})`, class: 'spared' }) : null);
    hits.push(g);
    chart.append(g);
  });
  const about = el('p', { class: 'chart-about figure' });
  const total = rows.reduce((s, r) => [s[0] + r.a, s[1] + r.b], [0, 0]);
  const rest = () => {
    about.textContent = `${write(total[0])} ${names[0]}, ${write(total[1])} ${names[1]}`;
  };
  hits.forEach((g, i) => {
    g.addEventListener('pointerenter', () => {
      about.textContent = `${rows[i].label}: ${write(rows[i].a)} ${names[0]}, ${write(rows[i].b)} ${names[1]}`;
    });
    g.addEventListener('pointerleave', rest);
  });
  rest();
  const every = Math.ceil(rows.length / 6);
  return el('figure', { class: 'chart' },
    el('figcaption', {}, el('span', { class: 'chart-title' }, title), about),
    el('div', { class: 'chart-body' },
      el('div', { class: 'chart-scale figure', 'aria-hidden': 'true' }, el('span', {}, most ? write(most) : ''), el('span', {}, most ? write(most / 2) : ''), el('span', {}, '0')),
      el('div', { class: 'chart-plot' }, chart,
        el('div', { class: 'chart-ticks figure', 'aria-hidden': 'true' }, rows.map((r, i) => el('span', {}, i % every === 0 ? r.tick : ''))))),
    el('p', { class: 'legend', 'aria-hidden': 'true' }, el('i', { class: 'key solid' }), names[0], el('i', { class: 'key spared' }), names[1]),
    table(rows, names, write, title));
}

// table is the chart for those who cannot see it.
function table(rows, names, write, title) {
  return el('div', { class: 'unseen' }, el('table', {},
    el('caption', {}, title),
    el('thead', {}, el('tr', {}, ['', ...names].map((n) => el('th', { scope: 'col' }, n)))),
    el('tbody', {}, rows.map((r) => el('tr', {}, el('th', { scope: 'row' }, r.label), el('td', {}, write(r.a)), el('td', {}, write(r.b)))))));
}

// niceTop is the least round number that is not below n.
function niceTop(n) {
  if (n <= 0) return 0;
  const p = 10 ** Math.floor(Math.log10(n));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((m) => m * p).find((m) => m >= n);
}
