// One member; for this machine also the parts of its bound, findings and counters.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Chart, type Line } from './chart';
import { badge, bound, marksOf, Spans, useHistories } from './network';
import { ask } from './store';
import { seconds, span } from './text';
import type { Member, State, Status } from './types';

// Overlapping Allan deviation of the offset, from points at a constant step.
export function allan(line: Line | undefined): [number, number][] {
  if (!line || line.points.length < 8) return [];
  const step = Math.min(...line.points.slice(1).map((point, i) => point[0] - line.points[i][0]));
  const first = line.points[0][0];
  const at: (number | undefined)[] = [];
  for (const point of line.points) at[Math.round((point[0] - first) / step)] = (point[1] + point[2]) / 2;
  const result: [number, number][] = [];
  for (let m = 1; 2 * m < at.length; m *= 2) {
    let sum = 0, count = 0;
    for (let i = 0; i + 2 * m < at.length; i++) {
      const [a, b, c] = [at[i], at[i + m], at[i + 2 * m]];
      if (a === undefined || b === undefined || c === undefined) continue;
      sum += (c - 2 * b + a) ** 2;
      count++;
    }
    if (count > 1) result.push([m * step, Math.sqrt(sum / (2 * count)) / (m * step)]);
  }
  return result;
}

function Allan({ line }: { line: Line | undefined }) {
  const rows = allan(line);
  if (!rows.length) return null;
  const worst = Math.max(...rows.map((row) => row[1]), 1e-12);
  return (
    <section>
      <h2>Allan deviation</h2>
      <p>How much the rate of the clock varies from one interval of this length to the next.</p>
      <div class="scroll"><table>
        <thead><tr><th scope="col">interval</th><th scope="col">deviation, ppm</th><th scope="col"><span class="hidden">bar</span></th></tr></thead>
        <tbody>{rows.map(([tau, deviation]) => <tr key={tau}><th scope="row">{seconds(tau)}</th><td class="number">{deviation.toPrecision(3)}</td>
          <td><svg width="120" height="12" aria-hidden="true"><rect class="bar" height="12" width={Math.max(120 * deviation / worst, 1)} /></svg></td></tr>)}</tbody>
      </table></div>
    </section>
  );
}

function Parts({ status }: { status: Status }) {
  const parts: [string, number | undefined, string][] = [
    ['round trip', status.bound_round_trip_us, 'what the exchanges with the reference leave open'],
    ['drift', status.bound_drift_us, 'what the clocks may have drifted since the newest exchange'],
    ['reference', status.bound_reference_us, 'error bound of the reference itself'],
    ['other', status.bound_other_us, 'holdover, objections, a correction under way'],
  ];
  const known = parts.filter((part) => part[1] !== undefined);
  const sum = known.reduce((total, part) => total + part[1]!, 0);
  return (
    <section>
      <h2>Error bound: its parts</h2>
      <p>{bound(status)}{status.bound_age_s !== undefined ? `; newest exchange ${seconds(status.bound_age_s)} ago` : ''}</p>
      {known.length > 0 && <div class="scroll"><table>
        <thead><tr><th scope="col">part</th><th scope="col">size</th><th scope="col"><span class="hidden">bar</span></th><th scope="col">meaning</th></tr></thead>
        <tbody>{known.map(([name, size, meaning]) => <tr key={name}><th scope="row">{name}</th><td class="number">{span(size)}</td>
          <td><svg width="120" height="12" aria-hidden="true"><rect class="bar" height="12" width={sum ? 120 * size! / sum : 0} /></svg></td><td>{meaning}</td></tr>)}</tbody>
      </table></div>}
    </section>
  );
}

function Counters() {
  const [counters, setCounters] = useState<Record<string, number>>({});
  useEffect(() => {
    const load = async () => setCounters((await ask<Status>('status'))?.counters ?? {});
    void load();
    const timer = setInterval(load, 5000);
    return () => clearInterval(timer);
  }, []);
  const rows = Object.entries(counters).filter(([, count]) => count > 0);
  return (
    <section><h2>Counters</h2><div class="scroll"><table>
      <thead><tr><th scope="col">counter</th><th scope="col">since the start</th></tr></thead>
      <tbody>{rows.map(([name, count]) => <tr key={name}><th scope="row">{name}</th><td class="number">{count}</td></tr>)}</tbody>
    </table></div></section>
  );
}

export function Findings({ state }: { state: State }) {
  const findings = (state.findings?.findings ?? []).filter((finding) => finding.level !== 'ok');
  return (
    <section><h2>Findings of tempo doctor</h2>
      {findings.length === 0 ? <p>No problems found.</p> : <ul class="findings">{findings.map((finding) =>
        <li key={finding.code + finding.what} class={finding.level}>
          {finding.code && <a href={`#help/${finding.code}`}>{finding.code}</a>} {finding.what} {finding.cure && <em>{finding.cure}</em>}
        </li>)}</ul>}
    </section>
  );
}

export function MemberView({ state, id }: { state: State; id: string }) {
  const status = state.status!;
  const [span_s, setSpan] = useState(600);
  const member: Member | undefined = status.members.find((one) => one.id === id) ?? (id ? undefined : status.members.find((one) => one.self));
  const shown = useMemo(() => member ? [member] : [], [member?.id]);
  const lines = useHistories(shown, span_s);
  const marks = useMemo(() => marksOf(state.events), [state.events]);
  const choice = (
    <label>Member <select value={member?.id ?? ''} onChange={(e) => { location.hash = `member/${e.currentTarget.value}`; }}>
      {!member && <option value="">unknown</option>}
      {status.members.map((one) => <option key={one.id} value={one.id}>{one.name || one.id}</option>)}
    </select></label>
  );
  if (!member) return <><p>No member has the id {id}.</p>{choice}</>;
  const [kind, text] = badge(member);
  const facts: [string, string][] = [
    ['role', member.role], ['offset', span(member.offset_us)], ['error bound', member.bound_us === undefined ? '–' : `± ${span(member.bound_us)}`],
    ['rate', member.rate_ppm === undefined ? '–' : `${member.rate_ppm.toFixed(3)} ppm`], ['scatter', span(member.sigma_us)],
    ['hears', member.hears === undefined ? '–' : `${member.hears} others`], ['heard', member.self ? 'here' : `${seconds(member.heard_ago_s)} ago`],
    ['version', member.version || '–'], ['uptime', seconds(member.uptime_s)], ['address', member.address || '–'], ['id', member.id],
  ];
  return (
    <>
      <div class="row"><h2>{member.name} <span class={`badge ${kind}`}>{text}</span></h2>{choice}</div>
      <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <Spans value={span_s} set={setSpan} />
      <Chart title={`Offset of ${member.name} with its error bound`} lines={lines} marks={marks} summary={`${span(member.offset_us)} ± ${span(member.bound_us)}`} />
      {member.self && <Parts status={status} />}
      <Allan line={lines[0]} />
      {member.self && <Findings state={state} />}
      {member.self && <Counters />}
    </>
  );
}
