// Numbers and times as text.
export function span(us: number | undefined | null): string {
  if (us === undefined || us === null || !Number.isFinite(us)) return '–';
  const size = Math.abs(us);
  if (size < 1) return `${(us * 1e3).toFixed(0)} ns`;
  if (size < 1e3) return `${us.toPrecision(3)} µs`;
  if (size < 1e6) return `${(us / 1e3).toPrecision(3)} ms`;
  return seconds(us / 1e6);
}

export function seconds(s: number | undefined | null): string {
  if (s === undefined || s === null || !Number.isFinite(s)) return '–';
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${s.toFixed(0)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function clock(ns: string): string {
  const date = new Date(Number(BigInt(ns) / 1000000n));
  return Number.isNaN(date.getTime()) ? '–' : date.toISOString().slice(11, 23);
}

export function date(ns: string): string {
  const at = new Date(Number(BigInt(ns) / 1000000n));
  return Number.isNaN(at.getTime()) ? '–' : at.toISOString().slice(0, 10);
}
