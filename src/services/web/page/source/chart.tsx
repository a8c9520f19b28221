// A chart of offsets with their error bounds as bands. Every chart exports as SVG and CSV.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { span } from './text';

export interface Line { name: string; points: [number, number, number, number][]; }  // time, low, high, bound
export interface Mark { at: number; label: string; }
interface Props { title: string; lines: Line[]; marks: Mark[]; log?: boolean; xLabel?: string; summary: string; }

const palette = ['#1d6fb8', '#c2571a', '#2c8a4b', '#8a4fb0', '#b0324f', '#6b6b1f', '#187f86', '#96613a'];
const alpha = '2e';

// Rows of time, and for each line middle, lower and upper end of the band; null: no value.
export function table(lines: Line[]): (number | null)[][] {
  const times = [...new Set(lines.flatMap((line) => line.points.map((point) => point[0])))].sort((a, b) => a - b);
  const columns: (number | null)[][] = [times];
  for (const line of lines) {
    const at = new Map(line.points.map((point) => [point[0], point]));
    const middle: (number | null)[] = [], low: (number | null)[] = [], high: (number | null)[] = [];
    for (const time of times) {
      const point = at.get(time);
      middle.push(point ? (point[1] + point[2]) / 2 : null);
      low.push(point ? point[1] - point[3] : null);
      high.push(point ? point[2] + point[3] : null);
    }
    columns.push(middle, low, high);
  }
  return columns;
}

function save(name: string, type: string, text: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function csv(lines: Line[]): string {
  const head = ['time_s', ...lines.flatMap((line) => [`${line.name}_us`, `${line.name}_low_us`, `${line.name}_high_us`])];
  const columns = table(lines);
  const rows = columns[0].map((_, i) => columns.map((column) => column[i] ?? '').join(','));
  return [head.join(','), ...rows].join('\n') + '\n';
}

const escape = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

export function svg(title: string, lines: Line[], marks: Mark[]): string {
  const width = 960, height = 400, left = 80, right = 20, top = 40, bottom = 60;
  const columns = table(lines) as number[][];
  const times = columns[0];
  const values = columns.slice(1).flat().filter((value) => value !== null);
  const [t0, t1] = [times[0] ?? 0, times[times.length - 1] ?? 1];
  const [v0, v1] = values.length ? [Math.min(...values), Math.max(...values)] : [-1, 1];
  const x = (t: number) => left + (width - left - right) * (t - t0) / Math.max(t1 - t0, 1e-9);
  const y = (v: number) => top + (height - top - bottom) * (v1 - v) / Math.max(v1 - v0, 1e-9);
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/><text x="${left}" y="20" font-size="15">${escape(title)}</text>`];
  for (let i = 0; i <= 4; i++) {
    const v = v0 + (v1 - v0) * i / 4;
    parts.push(`<path d="M${left} ${y(v).toFixed(1)}H${width - right}" stroke="#ddd"/><text x="${left - 6}" y="${(y(v) + 4).toFixed(1)}" text-anchor="end">${span(v)}</text>`);
    const t = t0 + (t1 - t0) * i / 4;
    parts.push(`<text x="${x(t).toFixed(1)}" y="${height - bottom + 18}" text-anchor="middle">${new Date(t * 1000).toISOString().slice(11, 19)}</text>`);
  }
  lines.forEach((line, n) => {
    const color = palette[n % palette.length];
    const low = columns[3 * n + 2], high = columns[3 * n + 3], middle = columns[3 * n + 1];
    const known = times.map((_, i) => i).filter((i) => middle[i] !== null);
    const path = (column: number[], order: number[]) => order.map((i) => `${x(times[i]).toFixed(1)} ${y(column[i]).toFixed(1)}`).join('L');
    if (known.length)
      parts.push(`<path d="M${path(high, known)}L${path(low, [...known].reverse())}Z" fill="${color}" opacity="0.18"/><path d="M${path(middle, known)}" fill="none" stroke="${color}"/>`);
    parts.push(`<text x="${left + 130 * (n % 6)}" y="${height - 22 + 14 * Math.floor(n / 6)}" fill="${color}">${escape(line.name)}</text>`);
  });
  for (const mark of marks)
    if (mark.at >= t0 && mark.at <= t1)
      parts.push(`<path d="M${x(mark.at).toFixed(1)} ${top}V${height - bottom}" stroke="#b0324f" stroke-dasharray="4 3"><title>${escape(mark.label)}</title></path>`);
  return parts.join('') + '</svg>\n';
}

export function Chart({ title, lines, marks, summary }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shown = useRef(marks);
  const [drawn, redrawAll] = useState(0);
  shown.current = marks;
  const names = lines.map((line) => line.name).join('\n');

  useEffect(() => {
    const seen = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => redrawAll((n) => n + 1);
    seen.addEventListener('change', redraw);
    window.addEventListener('tempo-theme', redraw);
    return () => { seen.removeEventListener('change', redraw); window.removeEventListener('tempo-theme', redraw); };
  }, []);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--ink').trim(), faint = style.getPropertyValue('--line').trim();
    const size = parseFloat(style.fontSize);
    const font = `${Math.round(size * 0.8)}px system-ui, sans-serif`;
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    lines.forEach((line, n) => {
      const color = palette[n % palette.length];
      series.push({ label: line.name, stroke: color, width: 1.5, spanGaps: true, points: { show: false } },
        { stroke: 'transparent', spanGaps: true, points: { show: false } }, { stroke: 'transparent', spanGaps: true, points: { show: false } });
      bands.push({ series: [3 * n + 3, 3 * n + 2], fill: color + alpha });
    });
    const axis = { stroke: ink, font, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1 } };
    const chart = new uPlot({
      width: Math.max(element.clientWidth, 200), height: Math.round(size * 17), series, bands, legend: { show: false },
      cursor: { drag: { x: true, y: false } },
      axes: [{ ...axis, space: size * 6, size: size * 2.2, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toISOString().slice(11, ticks[1] - ticks[0] < 60 ? 19 : 16)) }, { ...axis, size: size * 5.5, values: (_, ticks) => ticks.map((tick) => tick === null ? '' : span(tick)) }],
      hooks: { draw: [(u) => {
        const { ctx, bbox } = u;
        ctx.save();
        ctx.textAlign = 'left'; ctx.textBaseline = 'top'; ctx.strokeStyle = '#b0324f'; ctx.fillStyle = ink; ctx.font = font; ctx.setLineDash([4, 3]);
        let until = -Infinity;
        for (const mark of shown.current) {
          const x = u.valToPos(mark.at, 'x', true);
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
          const width = ctx.measureText(mark.label).width;
          if (x < until || x + width > bbox.left + bbox.width) continue;
          ctx.fillText(mark.label, x + 4, bbox.top + 2);
          until = x + width + 12;
        }
        ctx.restore();
      }] },
    }, table(lines) as uPlot.AlignedData, element);
    plot.current = chart;
    const observer = new ResizeObserver(() => {
      if (parseFloat(getComputedStyle(document.documentElement).fontSize) !== size) redrawAll((n) => n + 1);
      else chart.setSize({ width: Math.max(element.clientWidth, 200), height: Math.round(size * 17) });
    });
    observer.observe(element);
    return () => { observer.disconnect(); chart.destroy(); plot.current = null; };
  }, [names, drawn]);

  useEffect(() => { plot.current?.setData(table(lines) as uPlot.AlignedData); }, [lines, marks]);

  const file = title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="legend">{lines.map((line, n) => <span key={line.name}><svg width="14" height="10" aria-hidden="true"><rect width="14" height="10" rx="2" fill={palette[n % palette.length]} /></svg> {line.name} </span>)}</span>
        <span class="buttons">
          <button type="button" onClick={() => save(`${file}.svg`, 'image/svg+xml', svg(title, lines, marks))}>SVG</button>
          <button type="button" onClick={() => save(`${file}.csv`, 'text/csv', csv(lines))}>CSV</button>
        </span>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}. ${summary}`} />
    </figure>
  );
}
