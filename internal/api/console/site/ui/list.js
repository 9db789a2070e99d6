// A list that holds only the rows that are seen, however many there are: rows have one
// height, and the browser scrolls an empty box of the height of all of them.

import { el } from './dom.js';

// Browsers cannot scroll boxes that are higher than some 30 million pixels.
const tallest = 12_000_000;

export class VirtualList {
  // draw(i) makes row i; onopen(i) is called when a row is clicked or entered.
  constructor({ rowHeight, label, draw, onopen, onmove, before = 8 }) {
    Object.assign(this, { rowHeight, draw, onopen, onmove, before });
    this.length = 0;
    this.chosen = -1;
    this.rows = new Map();
    this.space = el('div', { class: 'virtual-space', role: 'presentation' });
    this.node = el('div', { class: 'virtual', tabindex: '0', role: 'listbox', 'aria-label': label, onscroll: () => this.ask(), onkeydown: (e) => this.key(e) }, this.space);
    this.resize = new ResizeObserver(() => this.ask());
    this.resize.observe(this.node);
  }

  // set makes the list n rows long and draws what is seen of it anew.
  set(n) {
    this.length = n;
    this.space.style.height = Math.min(n * this.rowHeight, tallest) + 'px';
    this.node.style.maxHeight = this.space.style.height; // a short list has no empty end
    this.clear();
  }

  // clear draws all rows that are seen anew.
  clear() {
    this.stale = true;
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.show();
    });
  }

  // ratio is how many pixels of rows one pixel of the box stands for.
  get ratio() {
    const full = this.length * this.rowHeight - this.node.clientHeight;
    const box = Math.min(this.length * this.rowHeight, tallest) - this.node.clientHeight;
    return box > 0 ? full / box : 1;
  }

  show() {
    const top = this.node.scrollTop * this.ratio;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - this.before);
    const last = Math.min(this.length - 1, Math.ceil((top + this.node.clientHeight) / this.rowHeight) + this.before);
    for (const [i, row] of this.rows) {
      if (this.stale || i < first || i > last) {
        row.remove();
        this.rows.delete(i);
      }
    }
    this.stale = false;
    const shift = this.node.scrollTop - top;
    for (let i = first; i <= last; i++) {
      let row = this.rows.get(i);
      if (!row) {
        row = el('div', { class: 'row', role: 'option', id: `row-${this.node.ariaLabel.replace(/\W/g, '')}-${i}`, 'aria-setsize': this.length, 'aria-posinset': i + 1, onclick: () => this.open(i) }, this.draw(i));
        row.style.height = this.rowHeight + 'px';
        row.style.order = i; // on paper they follow each other
        this.rows.set(i, row);
        this.space.append(row);
      }
      row.style.transform = `translateY(${i * this.rowHeight + shift}px)`;
      row.setAttribute('aria-selected', String(i === this.chosen));
    }
    const row = this.rows.get(this.chosen);
    if (row) this.node.setAttribute('aria-activedescendant', row.id);
    else this.node.removeAttribute('aria-activedescendant');
    this.onshow?.(first, last);
  }

  // choose marks a row and brings it into view.
  choose(i, scroll = true) {
    this.chosen = i;
    if (scroll && i >= 0) this.reveal(i);
    this.ask();
  }

  // reveal brings a row into view.
  reveal(i) {
    const y = i * this.rowHeight;
    const top = this.node.scrollTop * this.ratio;
    if (y < top || y + this.rowHeight > top + this.node.clientHeight) {
      this.node.scrollTop = Math.max(0, y - this.node.clientHeight / 2) / this.ratio;
    }
  }

  open(i) {
    this.choose(i, false);
    this.onopen?.(i);
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.rowHeight) - 1);
    const to = { ArrowDown: this.chosen + 1, ArrowUp: this.chosen - 1, PageDown: this.chosen + page, PageUp: this.chosen - page, Home: 0, End: this.length - 1 }[e.key];
    if (e.key === 'Enter' && this.chosen >= 0) {
      e.preventDefault();
      this.onopen?.(this.chosen);
    } else if (to !== undefined && this.length > 0) {
      e.preventDefault();
      this.choose(Math.min(Math.max(to, 0), this.length - 1));
      this.onmove?.(this.chosen);
    }
  }

  stop() {
    this.resize.disconnect();
  }
}
