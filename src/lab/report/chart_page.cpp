#include "lab/report/chart_page.h"

#include <string_view>

namespace tempo::report {
namespace {

constexpr std::string_view kStyle = R"(
.chart { margin: 0; min-width: 0; }
.chart h4 { margin: 0 0 6px; font-size: 14px; font-weight: 650; }
.chart figcaption { color: var(--muted); font-size: 12.5px; margin-top: 4px; }
.chart .plot { position: relative; touch-action: pan-y; }
.chart svg { width: 100%; height: auto; cursor: crosshair; user-select: none; }
.chart .axis { fill: var(--muted); font-size: 11px; font-variant-numeric: tabular-nums; }
.chart .name { fill: var(--ink); font-size: 11.5px; }
.chart .rule { stroke: var(--faint); stroke-width: 1; }
.chart .edge { stroke: var(--muted); stroke-width: 1; fill: none; }
.chart .curve { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.chart .stem { stroke-width: 1.4; }
.chart .near { fill: none; stroke: var(--lit); stroke-width: 2; }
.chart .drag { fill: var(--lit); opacity: 0.15; }
.chart .read { position: absolute; pointer-events: none; background: var(--panel); color: var(--ink);
  border: 1px solid var(--faint); border-radius: 6px; padding: 3px 8px; font-size: 12px; white-space: nowrap;
  font-variant-numeric: tabular-nums; box-shadow: 0 2px 8px rgb(0 0 0 / 0.18); }
.chart .keys { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12.5px; }
.chart .keys button { font: inherit; color: inherit; background: none; border: 0; padding: 2px 0; cursor: pointer;
  display: inline-flex; gap: 6px; align-items: center; }
.chart .keys button[aria-pressed=false] { opacity: 0.4; text-decoration: line-through; }
.chart .keys i { width: 14px; height: 3px; border-radius: 2px; display: inline-block; }
.chart .keys i.dots { width: 8px; height: 8px; border-radius: 4px; }
.chart .keys i.bars { height: 10px; opacity: 0.5; }
.chart details { margin-top: 4px; font-size: 12px; color: var(--muted); }
.chart details table { border-collapse: collapse; display: block; max-height: 260px; overflow: auto; }
.chart details td, .chart details th { text-align: right; padding: 1px 14px 1px 0; font-weight: 400; }
.chart details td:first-child, .chart details th:first-child { text-align: left; }
)";

constexpr std::string_view kScript = R"(
(() => {
  const W = 640, H = 320, L = 62, R = 12, T = 10, B = 42;
  const colours = ['--s2', '--s8', '--s4', '--s3', '--s5', '--s6', '--s1', '--s7', '--s9', '--s10', '--s0', '--s11'];
  const make = (name, attributes, parent) => {
    const it = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
    if (parent) parent.appendChild(it);
    return it;
  };
  const words = (value) => {
    const size = Math.abs(value);
    if (value === 0) return '0';
    if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace('e+', 'e');
    return String(Number(value.toPrecision(5)));
  };
  class Axis {
    constructor(low, high, log, from, to) {
      Object.assign(this, {low, high, log, from, to});
      const f = log ? Math.log10 : (value) => value;
      [this.f, this.a, this.b] = [f, f(low), f(high)];
    }
    place(value) { return this.from + (this.f(value) - this.a) / (this.b - this.a) * (this.to - this.from); }
    value(place) {
      const at = this.a + (place - this.from) / (this.to - this.from) * (this.b - this.a);
      return this.log ? 10 ** at : at;
    }
    ticks() {
      const list = [];
      if (this.log && this.b - this.a >= 1) {
        const many = this.b - this.a > 3;
        const step = Math.ceil((this.b - this.a) / 8);
        for (let e = Math.floor(this.a); e <= Math.ceil(this.b); e += many ? step : 1)
          for (const m of many ? [1] : [1, 2, 5]) list.push(m * 10 ** e);
      } else {
        const raw = (this.high - this.low) / 6, ten = 10 ** Math.floor(Math.log10(raw));
        const step = ten * [1, 2, 2.5, 5, 10].find((it) => it * ten >= raw);
        for (let i = Math.ceil(this.low / step - 1e-9); i * step <= this.high + step * 1e-9; ++i)
          list.push(Number((i * step).toPrecision(12)));
      }
      const slack = (this.b - this.a) * 1e-9;
      return list.filter((it) => this.f(it) >= this.a - slack && this.f(it) <= this.b + slack);
    }
  }
  for (const figure of document.querySelectorAll('figure.chart')) {
    const xLog = figure.hasAttribute('data-x-log'), yLog = figure.hasAttribute('data-y-log');
    const fits = (p) => Number.isFinite(p.x) && Number.isFinite(p.y) && (!xLog || p.x > 0) && (!yLog || p.y > 0);
    const series = [...figure.querySelectorAll('tbody')].map((body) => ({
      name: body.dataset.series, mark: body.dataset.mark, shown: true, colour: `var(${colours[Number(body.dataset.colour) % colours.length]})`,
      points: [...body.rows].map((row) => {
        const [x, y, low, high] = [1, 2, 3, 4].map((c) => row.cells[c] && row.cells[c].textContent !== '' ?
          Number(row.cells[c].textContent) : NaN);
        return {x, y, low, high};
      }).filter(fits)}));
    const plot = figure.querySelector('.plot');
    const svg = make('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img'}, plot);
    const read = document.createElement('div');
    read.className = 'read';
    read.hidden = true;
    plot.appendChild(read);
    const keys = document.createElement('div');
    keys.className = 'keys';
    plot.after(keys);
    let window_ = null, x, y;
    const extent = () => {
      let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
      let bar = false;
      for (const s of series) {
        if (!s.shown) continue;
        bar = bar || s.mark === 'bars';
        for (const p of s.points) {
          x0 = Math.min(x0, p.x); x1 = Math.max(x1, p.x);
          for (const v of [p.y, p.low, p.high]) if (Number.isFinite(v) && (!yLog || v > 0)) {
            y0 = Math.min(y0, v); y1 = Math.max(y1, v);
          }
        }
      }
      if (!(x0 <= x1)) return {x0: xLog ? 1 : 0, x1: xLog ? 10 : 1, y0: yLog ? 1 : 0, y1: yLog ? 10 : 1};
      const grow = (low, high, log, part) => {
        if (log) { const by = Math.max((high / low) ** part, 1.02); return [low / by, high * by]; }
        const by = (high - low) * part || Math.abs(high) * 0.1 || 1;
        return [low - by, high + by];
      };
      [x0, x1] = grow(x0, x1, xLog, bar ? 0.06 : 0.03);
      if (!yLog && y0 >= 0 && y0 < (y1 - y0) * 0.6) { y0 = 0; y1 = y1 * 1.06 || 1; }
      else [y0, y1] = grow(y0, y1, yLog, 0.06);
      return {x0, x1, y0, y1};
    };
    const draw = () => {
      svg.replaceChildren();
      const e = window_ || extent();
      x = new Axis(e.x0, e.x1, xLog, L, W - R);
      y = new Axis(e.y0, e.y1, yLog, H - B, T);
      const clip = 'clip-' + figure.id;
      make('rect', {x: L, y: T, width: W - L - R, height: H - T - B},
        make('clipPath', {id: clip}, make('defs', {}, svg)));
      for (const at of y.ticks()) {
        make('path', {class: 'rule', d: `M${L} ${y.place(at)}H${W - R}`}, svg);
        make('text', {class: 'axis', x: L - 6, y: y.place(at) + 4, 'text-anchor': 'end'}, svg).textContent = words(at);
      }
      for (const at of x.ticks()) {
        make('path', {class: 'rule', d: `M${x.place(at)} ${T}V${H - B}`}, svg);
        make('text', {class: 'axis', x: x.place(at), y: H - B + 15, 'text-anchor': 'middle'}, svg).textContent = words(at);
      }
      make('path', {class: 'edge', d: `M${L} ${T}V${H - B}H${W - R}`}, svg);
      make('text', {class: 'name', x: (L + W - R) / 2, y: H - 8, 'text-anchor': 'middle'}, svg).textContent = figure.dataset.x;
      make('text', {class: 'name', x: 12, y: (H - B + T) / 2, 'text-anchor': 'middle',
        transform: `rotate(-90 12 ${(H - B + T) / 2})`}, svg).textContent = figure.dataset.y;
      const layer = make('g', {'clip-path': `url(#${clip})`}, svg);
      let marks = 0;
      const barred = series.filter((s) => s.shown && s.mark === 'bars');
      for (const s of series) {
        if (!s.shown) continue;
        if (s.mark === 'bars') {
          const gaps = s.points.slice(1).map((p, i) => Math.abs(x.place(p.x) - x.place(s.points[i].x))).filter((it) => it > 0);
          const wide = Math.min(40, ...gaps) * 0.8 / barred.length;
          s.points.forEach((p) => {
            const px = x.place(p.x) + (barred.indexOf(s) - (barred.length - 1) / 2) * wide, top = y.place(p.y);
            make('rect', {x: px - wide / 2, y: top, width: Math.max(wide, 0.5), height: Math.max(0, y.place(e.y0) - top),
              fill: s.colour, opacity: 0.5}, layer);
            ++marks;
          });
        } else if (s.mark === 'line') {
          make('path', {class: 'curve', stroke: s.colour,
            d: s.points.map((p, i) => `${i ? 'L' : 'M'}${x.place(p.x).toFixed(1)} ${y.place(p.y).toFixed(1)}`).join('')}, layer);
          marks += s.points.length > 1 ? 1 : 0;
        } else {
          s.points.forEach((p) => {
            const px = x.place(p.x);
            if (Number.isFinite(p.low)) {
              const low = yLog && p.low <= 0 ? H - B : y.place(p.low);
              make('path', {class: 'stem', stroke: s.colour, fill: 'none',
                d: `M${px - 3} ${y.place(p.high)}h6m-3 0V${low}m-3 0h6`}, layer);
            }
            make('circle', {cx: px, cy: y.place(p.y), r: 3, fill: s.colour}, layer);
            ++marks;
          });
        }
      }
      figure.dataset.drawn = marks;
    };
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return [(event.clientX - box.left) * W / box.width, (event.clientY - box.top) * H / box.height];
    };
    let start = null, drag = null, near = null;
    svg.addEventListener('pointerdown', (event) => { start = at(event); svg.setPointerCapture(event.pointerId); });
    svg.addEventListener('pointermove', (event) => {
      const [mx, my] = at(event);
      if (start) {
        if (drag) drag.remove();
        drag = make('rect', {class: 'drag', x: Math.min(mx, start[0]), y: Math.min(my, start[1]),
          width: Math.abs(mx - start[0]), height: Math.abs(my - start[1])}, svg);
        return;
      }
      let best = null, least = 900;
      for (const s of series) if (s.shown) for (const p of s.points) {
        const [px, py] = [x.place(p.x), y.place(p.y)];
        if (px < L - 1 || px > W - R + 1 || py < T - 1 || py > H - B + 1) continue;
        const far = (px - mx) ** 2 + (py - my) ** 2;
        if (far < least) [best, least] = [{s, p, px, py}, far];
      }
      if (near) near.remove();
      near = null;
      read.hidden = !best;
      if (!best) return;
      near = make('circle', {class: 'near', cx: best.px, cy: best.py, r: 6}, svg);
      read.textContent = `${best.s.name}: ${words(best.p.x)}, ${words(best.p.y)}` +
        (Number.isFinite(best.p.low) ? ` (${words(best.p.low)} to ${words(best.p.high)})` : '');
      const share = best.px / W;
      read.style.left = share < 0.6 ? `${share * 100 + 1.5}%` : '';
      read.style.right = share < 0.6 ? '' : `${101.5 - share * 100}%`;
      read.style.top = `${best.py / H * svg.getBoundingClientRect().height - 30}px`;
    });
    svg.addEventListener('pointerleave', () => { read.hidden = true; if (near) near.remove(); near = null; });
    svg.addEventListener('pointerup', (event) => {
      const from = start, to = at(event);
      start = null;
      if (drag) drag.remove();
      drag = null;
      if (!from || Math.abs(to[0] - from[0]) < 8 || Math.abs(to[1] - from[1]) < 8) return;
      const [a, b] = [from[0], to[0]].sort((p, q) => p - q), [c, d] = [from[1], to[1]].sort((p, q) => p - q);
      window_ = {x0: x.value(a), x1: x.value(b), y0: y.value(d), y1: y.value(c)};
      draw();
    });
    svg.addEventListener('dblclick', () => { window_ = null; draw(); });
    for (const s of series) {
      const key = document.createElement('button');
      const sign = document.createElement('i');
      key.type = 'button';
      key.setAttribute('aria-pressed', 'true');
      sign.className = s.mark;
      sign.style.background = s.colour;
      key.append(sign, s.name);
      key.addEventListener('click', () => {
        s.shown = !s.shown;
        key.setAttribute('aria-pressed', s.shown);
        draw();
      });
      keys.appendChild(key);
    }
    draw();
  }
})();
)";

}  // namespace

std::string chart_style() { return std::string(kStyle); }
std::string chart_script() { return std::string(kScript); }

}  // namespace tempo::report
