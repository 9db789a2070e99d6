// The strip of a conversation: one cell a message, as wide as it has tokens, in the shape of
// what became of it at a call. It is drawn on a canvas, and only what is seen of it, so that
// 30,000 messages are no more work than 300.

import { count, el, replace } from './dom.js';

const least = 3; // pixels of a cell
const gap = 1;
const top = 40; // of the cells; above them are pins and recalled passages
const high = 62;

// names are what people call verdicts; later is a message that came after the call.
export const names = { keep: 'sent', trim: 'shortened', mask: 'result cleared', fold: 'in the digest', evict: 'left out', later: 'came later' };
const code = { keep: 0, trim: 1, mask: 2, fold: 3, evict: 4, later: 5 };
const verdictOf = Object.keys(code);

const kindNames = { s: 'system', u: 'person', a: 'model', c: 'model calls a tool', t: 'tool result', m: 'note of the agent', o: 'other' };

export class Strip {
  // onchoose gets the id of a message that is clicked or moved to.
  constructor({ onchoose }) {
    this.onchoose = onchoose;
    this.count = 0;
    this.chosen = 0;
    this.back = new Set();
    this.leaving = new Set();
    this.canvas = el('canvas', { 'aria-hidden': 'true', onclick: (e) => this.click(e), onpointermove: (e) => this.hover(e), onpointerleave: () => { this.tip.hidden = true; } });
    this.room = el('div', { class: 'room' }, this.canvas);
    this.pane = el('div', { class: 'pane', tabindex: '0', role: 'slider', 'aria-label': 'Messages', 'aria-valuemin': '1', 'aria-valuemax': '1', 'aria-valuenow': '1', onscroll: () => this.ask() }, this.room);
    this.map = el('canvas', { class: 'map', 'aria-hidden': 'true', onpointerdown: (e) => this.jump(e), onpointermove: (e) => { if (e.buttons) this.jump(e); } });
    this.tip = el('div', { class: 'tip', hidden: true });
    this.table = el('div', { class: 'unseen' });
    this.node = el('div', { class: 'strip' }, this.map, this.pane, this.tip, this.table);
    this.resize = new ResizeObserver(() => this.lay());
    this.resize.observe(this.pane);
    this.schemes = [matchMedia('(prefers-color-scheme: dark)'), matchMedia('print')];
    this.recolour = () => this.draw(); // at once: paper does not wait for a frame
    for (const m of this.schemes) m.addEventListener('change', this.recolour);
  }

  // setMessages sets what there is: a letter and a number of tokens for each message.
  setMessages(kinds, tokens) {
    this.count = tokens.length;
    this.kinds = kinds;
    this.tokens = tokens;
    this.verdicts = new Uint8Array(this.count);
    this.pane.setAttribute('aria-valuemax', String(this.count));
    this.lay();
  }

  // setCall sets what became of the messages at a call.
  setCall({ calls, upto, verdicts, pinned, held, recalled }) {
    this.called = calls > 0;
    this.upto = upto;
    this.verdicts.fill(code.keep).fill(code.later, Math.min(upto, this.count));
    for (const [first, last, verdict] of verdicts ?? []) this.verdicts.fill(code[verdict] ?? 0, first - 1, last);
    this.pinned = new Set(pinned);
    this.held = held ?? [];
    this.recalled = (recalled ?? []).map((r) => ({ ...r, own: !r.conversation || r.conversation === this.conversation }));
    this.announce();
    this.drawTable();
    this.ask();
  }

  // drawTable draws the strip for those who cannot see it: a row for each stretch of
  // messages with one verdict, the newest 200.
  drawTable() {
    if (!this.called) return replace(this.table);
    const rows = [];
    for (let last = this.count; last > 0 && rows.length < 200;) {
      let first = last;
      let sum = this.tokens[last - 1];
      while (first > 1 && this.verdicts[first - 2] === this.verdicts[last - 1]) sum += this.tokens[--first - 1];
      rows.push([first === last ? count(first) : `${count(first)} to ${count(last)}`, names[this.verdict(last)], `about ${count(sum)}`]);
      last = first - 1;
    }
    replace(this.table, el('table', {}, el('caption', {}, 'What became of the messages at this call, the newest first'),
      el('thead', {}, el('tr', {}, ['Messages', 'What became of them', 'Tokens'].map((t) => el('th', { scope: 'col' }, t)))),
      el('tbody', {}, rows.map(([a, b, c]) => el('tr', {}, el('th', { scope: 'row' }, a), el('td', {}, b), el('td', {}, c))))));
  }

  // show outlines what an undo would bring back and what would leave for it.
  show(back = [], leaving = []) {
    this.back = new Set(back);
    this.leaving = new Set(leaving);
    this.ask();
  }

  verdict(id) {
    return verdictOf[this.verdicts?.[id - 1] ?? 0];
  }

  by(id) {
    return kindNames[this.kinds[id - 1]] ?? 'other';
  }

  // lay computes where cells begin. All of them are seen at once if each can have three
  // pixels; if not, the pane scrolls, and a map of the whole stands above it.
  lay() {
    const wide = this.pane.clientWidth;
    if (!wide || !this.count) return;
    const n = this.count;
    const all = n * (least + gap) <= wide;
    let scale = 0.02;
    if (all) scale = this.fit(wide - n * gap);
    this.x = new Float64Array(n + 1);
    for (let i = 0; i < n; i++) {
      const w = Math.max(least, this.tokens[i] * scale);
      this.x[i + 1] = this.x[i] + (all ? w : Math.min(w, 160)) + gap;
    }
    this.room.style.width = (all ? wide : Math.ceil(this.x[n])) + 'px';
    this.map.hidden = all;
    this.ask();
  }

  // fit returns the pixels of a token with which the cells fill a width.
  fit(wide) {
    let low = 0;
    let up = wide;
    for (let i = 0; i < 50; i++) {
      const mid = (low + up) / 2;
      let sum = 0;
      for (const t of this.tokens) sum += Math.max(least, t * mid);
      if (sum > wide) up = mid;
      else low = mid;
    }
    return low;
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.draw();
    });
  }

  draw() {
    if (!this.x || !this.verdicts) return;
    const wide = this.pane.clientWidth;
    const left = this.pane.scrollLeft;
    const g = context(this.canvas, wide, 132);
    const c = colours();
    const first = this.at(left);
    const last = this.at(left + wide);
    for (let i = first; i <= last; i++) {
      const x = this.x[i] - left;
      const w = this.x[i + 1] - this.x[i] - gap;
      cell(g, c, verdictOf[this.verdicts[i]], x, w, top, high);
      const id = i + 1;
      if (this.kinds[i] === 'u') dot(g, c.ink, x + w / 2, top + high + 9, 2.5);
      else if (this.kinds[i] === 's') g.fillStyle = c.ink, g.fillRect(x + w / 2 - 2, top + high + 7, 4, 4);
      if (this.pinned?.has(id)) star(g, c.ink, x + w / 2, top - 9, 6.5);
      if (this.back.has(id)) outline(g, c.accent, x, w, []);
      if (this.leaving.has(id)) outline(g, c.ink, x, w, [3, 2]);
    }
    for (const [a, b] of this.held ?? []) {
      if (a > this.upto) continue;
      const from = this.x[a - 1] - left;
      g.fillStyle = c.ink;
      g.fillRect(from, top - 4, this.x[Math.min(b, this.upto)] - gap - left - from, 1.5);
    }
    for (const r of this.recalled ?? []) this.arc(g, c, r, left);
    if (this.chosen >= 1 && this.chosen <= this.count) {
      const x = this.x[this.chosen - 1] - left;
      const w = this.x[this.chosen] - this.x[this.chosen - 1] - gap;
      g.strokeStyle = c.ink;
      g.lineWidth = 2;
      g.strokeRect(x - 1.5, top - 2, w + 3, high + 4);
      g.fillStyle = c.ink;
      g.beginPath();
      g.moveTo(x + w / 2 - 6, 131);
      g.lineTo(x + w / 2 + 6, 131);
      g.lineTo(x + w / 2, top + high + 16);
      g.fill();
    }
    if (!this.map.hidden) this.drawMap(c, left, wide);
  }

  // arc draws a line from a recalled passage to the message that it came from; one of
  // another conversation comes from the edge.
  arc(g, c, r, left) {
    const into = this.mid(Math.min(r.into, this.count)) - left;
    const from = r.own ? this.mid(Math.min(r.id, this.count)) - left : -10;
    const many = this.recalled.length > 8;
    g.strokeStyle = c.accentText;
    g.lineWidth = many ? 1 : 1.5;
    g.globalAlpha = many ? 0.45 : 1;
    g.beginPath();
    g.moveTo(from, top - 2);
    g.bezierCurveTo(from, 0, into, 0, into, top - 11);
    g.stroke();
    g.globalAlpha = 1;
    g.fillStyle = c.accentText;
    g.beginPath();
    g.moveTo(into, top - 13);
    g.lineTo(into + 5, top - 8);
    g.lineTo(into, top - 3);
    g.lineTo(into - 5, top - 8);
    g.fill();
    if (r.own) dot(g, c.accentText, from, top - 3, 2.5);
  }

  mid(id) {
    return (this.x[id - 1] + this.x[id] - gap) / 2;
  }

  // drawMap draws the whole conversation: how much of each stretch was sent.
  drawMap(c, left, wide) {
    const g = context(this.map, wide, 30);
    const total = this.x[this.count];
    let i = 0;
    for (let px = 0; px < wide; px++) {
      const end = ((px + 1) / wide) * total;
      let sent = 0;
      let sum = 0;
      let later = false;
      const from = Math.min(i, this.count - 1);
      while (i < this.count && this.x[i + 1] <= end) i++;
      for (let k = from; k < Math.max(i, from + 1); k++) { // a wide cell is in several columns
        sum += this.tokens[k] + 1;
        if (this.verdicts[k] <= code.trim) sent += this.tokens[k] + 1;
        later ||= this.verdicts[k] === code.later;
      }
      const h = later ? 2 : Math.max(2, (sent / sum) * 24);
      g.fillStyle = sent > 0 && !later ? c.accent : c.gone;
      g.fillRect(px, 27 - h, 1, h);
    }
    g.strokeStyle = c.ink;
    g.lineWidth = 1.5;
    g.strokeRect((left / total) * wide + 1, 1, Math.max(6, (wide / total) * wide) - 2, 28);
  }

  // at returns the index of the cell at a place.
  at(x) {
    let low = 0;
    let up = this.count - 1;
    while (low < up) {
      const mid = (low + up + 1) >> 1;
      if (this.x[mid] <= x) low = mid;
      else up = mid - 1;
    }
    return low;
  }

  click(e) {
    if (this.x) this.onchoose(this.at(e.offsetX + this.pane.scrollLeft) + 1);
  }

  jump(e) {
    this.pane.scrollLeft = (e.offsetX / this.map.clientWidth) * this.x[this.count] - this.pane.clientWidth / 2;
  }

  hover(e) {
    if (!this.x) return;
    const id = this.at(e.offsetX + this.pane.scrollLeft) + 1;
    this.tip.textContent = this.about(id);
    this.tip.hidden = false;
    const x = Math.min(e.offsetX + 12, this.pane.clientWidth - this.tip.offsetWidth - 4);
    this.tip.style.transform = `translate(${Math.max(0, x)}px, ${this.map.hidden ? 8 : 44}px)`;
  }

  about(id) {
    return `${count(id)} · ${this.by(id)} · ~${count(this.tokens[id - 1])} tokens${this.called ? ' · ' + names[this.verdict(id)] : ''}${this.pinned?.has(id) ? ' · pinned' : ''}`;
  }

  // choose marks a message and brings it into view.
  choose(id) {
    this.chosen = id;
    if (id && this.x && id <= this.count) {
      const x = this.x[id - 1];
      const { scrollLeft, clientWidth } = this.pane;
      if (x < scrollLeft || this.x[id] > scrollLeft + clientWidth) this.pane.scrollLeft = x - clientWidth / 2;
    }
    this.announce();
    this.ask();
  }

  announce() {
    if (!this.chosen || this.chosen > this.count || !this.verdicts) return;
    this.pane.setAttribute('aria-valuenow', String(this.chosen));
    this.pane.setAttribute('aria-valuetext', 'message ' + this.about(this.chosen));
  }

  // end scrolls to the end of what a call had.
  end() {
    if (this.x && !this.map.hidden) this.pane.scrollLeft = this.x[Math.min(this.upto, this.count)] - this.pane.clientWidth + 40;
  }

  // follow scrolls to the end of what a call had, if that is not in view.
  follow() {
    if (!this.x) return;
    const end = this.x[Math.min(this.upto, this.count)];
    const { scrollLeft, clientWidth } = this.pane;
    if (end < scrollLeft || end > scrollLeft + clientWidth) this.end();
  }

  stop() {
    this.resize.disconnect();
    for (const m of this.schemes) m.removeEventListener('change', this.recolour);
  }
}

// context sizes a canvas for the screen and clears it.
function context(canvas, wide, height) {
  const ratio = devicePixelRatio || 1;
  const w = Math.round(wide * ratio);
  const h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = wide + 'px';
    canvas.style.height = height + 'px';
  }
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, wide, height);
  return g;
}

function colours() {
  const s = getComputedStyle(document.documentElement);
  const v = (name) => s.getPropertyValue(name).trim();
  return { accent: v('--accent'), accentSoft: v('--accent-soft'), accentText: v('--accent-text'), gone: v('--gone'), ink: v('--ink'), edge: v('--edge') };
}

// cell draws a verdict: a full block is sent, one without its middle shortened, a hatched
// frame cleared, a low block in the digest, a line left out, a dotted frame not there yet.
function cell(g, c, verdict, x, w, y, h) {
  switch (verdict) {
    case 'keep':
      g.fillStyle = c.accent;
      g.fillRect(x, y, w, h);
      break;
    case 'trim':
      g.fillStyle = c.accent;
      g.fillRect(x, y, w, h * 0.36);
      g.fillRect(x, y + h * 0.72, w, h * 0.28);
      g.fillStyle = c.accentSoft;
      g.fillRect(x, y + h * 0.42, w, h * 0.24);
      break;
    case 'mask':
      g.fillStyle = c.accentSoft;
      g.fillRect(x, y, w, h);
      if (w < 5) break;
      g.save();
      g.beginPath();
      g.rect(x, y, w, h);
      g.clip();
      g.strokeStyle = c.accent;
      g.lineWidth = 1;
      g.beginPath();
      for (let d = -h; d < w; d += 6) {
        g.moveTo(x + d, y + h);
        g.lineTo(x + d + h, y);
      }
      g.stroke();
      g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      g.restore();
      break;
    case 'fold':
      g.fillStyle = c.edge;
      g.fillRect(x, y + h * 0.7, w, h * 0.3);
      break;
    case 'evict':
      g.fillStyle = c.gone;
      g.fillRect(x, y + h - Math.max(1.5, h * 0.06), w, Math.max(1.5, h * 0.06));
      break;
    default:
      g.fillStyle = c.gone;
      g.fillRect(x, y, w, 1);
      g.fillRect(x, y + h - 1, w, 1);
      if (w < 8) break;
      g.fillRect(x, y, 1, h);
      g.fillRect(x + w - 1, y, 1, h);
  }
}

function outline(g, colour, x, w, dash) {
  g.strokeStyle = colour;
  g.lineWidth = 2;
  g.setLineDash(dash);
  g.strokeRect(x + 1, top + 1, Math.max(1, w - 2), high - 2);
  g.setLineDash([]);
}

function dot(g, colour, x, y, r) {
  g.fillStyle = colour;
  g.beginPath();
  g.arc(x, y, r, 0, 7);
  g.fill();
}

function star(g, colour, x, y, r) {
  g.fillStyle = colour;
  g.beginPath();
  for (let i = 0; i < 10; i++) {
    const a = (i * Math.PI) / 5 - Math.PI / 2;
    const d = i % 2 ? r * 0.42 : r;
    g.lineTo(x + d * Math.cos(a), y + d * Math.sin(a));
  }
  g.fill();
}

// legend explains the shapes, by drawing them.
export function legend() {
  const draw = (verdict) => {
    const canvas = el('canvas', { 'aria-hidden': 'true' });
    const paint = () => cell(context(canvas, 14, 14), colours(), verdict, 0, 14, 0, 14);
    requestAnimationFrame(paint);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (canvas.isConnected) paint(); });
    return el('span', {}, canvas, names[verdict]);
  };
  return el('p', { class: 'verdicts' }, verdictOf.map(draw), el('span', {}, '★ pinned'), el('span', {}, '◆ recalled, with a line from its source'), el('span', {}, '● a person speaks'), el('span', {}, '■ system'), el('span', {}, '▔ held by an undo'));
}
