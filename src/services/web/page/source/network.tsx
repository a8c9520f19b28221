// All members: what is wrong, a table, a map and their offsets.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Chart, type Line, type Mark } from './chart';
import { marked } from './explain';
import { ask } from './store';
import { seconds, span } from './text';
import type { History, Member, State, Status, TempoEvent } from './types';

const kMaxRows = 150;
const kMaxLines = 8;
const kMaxOnMap = 60;

export function marksOf(events: TempoEvent[]): Mark[] {
  return events.filter((event) => marked.has(event.name))
    .map((event) => ({ at: Number(BigInt(event.at_ns) / 1000000n) / 1000, label: event.name }));
}

export function useHistories(members: Member[], span_s: number): Line[] {
  const [lines, setLines] = useState<Line[]>([]);
  const key = members.map((member) => member.id).join();
  useEffect(() => {
    let live = true;
    const load = async () => {
      const loaded = await Promise.all(members.map(async (member) => {
        const history = await ask<History>(`history?id=${encodeURIComponent(member.id)}&span_s=${span_s}`);
        return { name: member.name, points: history?.points ?? [] };
      }));
      if (live) setLines(loaded.filter((line) => line.points.length > 0));
    };
    void load();
    const timer = setInterval(() => { if (!document.hidden) void load(); }, span_s <= 600 ? 2000 : 20000);
    return () => { live = false; clearInterval(timer); };
  }, [key, span_s]);
  return lines;
}

export function Spans({ value, set }: { value: number; set: (span_s: number) => void }) {
  return (
    <div class="buttons" role="group" aria-label="Time span">
      {([[600, '10 min'], [3600, '1 h'], [86400, '1 day']] as const).map(([span_s, label]) =>
        <button key={label} type="button" aria-pressed={value === span_s} onClick={() => set(span_s)}>{label}</button>)}
    </div>
  );
}

export function bound(status: Status): string {
  if (status.status === 'unsynchronized') return 'no network time';
  if (status.utc_bound_us !== undefined) return `UTC ± ${span(status.utc_bound_us)}`;
  const time = BigInt(status.time_ns), late = BigInt(status.latest_ns) - time, early = time - BigInt(status.earliest_ns);
  return `network time ± ${span(Number(late > early ? late : early) / 1e3)}`;
}

// Sentences about what a person must see at once.
export function alarms(state: State): string[] {
  const list: string[] = [];
  if (!state.tempod.connected) list.push(`No connection to tempod: ${state.tempod.error}`);
  const status = state.status;
  if (!status) return list;
  if (status.status === 'minority') list.push('PARTITION: this machine is in the minority. It hears less than half of the members.');
  if (status.status === 'unsynchronized') list.push('This machine has no network time.');
  const silent = status.members.filter((member) => member.state === 'silent');
  const known = status.members.filter((member) => member.self || member.state === 'up' || member.state === 'silent').length;
  if (status.status !== 'minority' && 2 * silent.length >= known && silent.length)
    list.push(`PARTITION: only ${known - silent.length} of ${known} members are heard. The network is split, or the others have crashed.`);
  else if (silent.length && status.status !== 'minority')
    list.push(`${silent.length} of ${status.members.length} members are silent (${silent.slice(0, 5).map((member) => member.name).join(', ')}${silent.length > 5 ? ', …' : ''}): they have crashed, or the network is split.`);
  if (state.locks && !['', 'off'].includes(state.locks.obstacle)) list.push(`Locks: ${state.locks.guarantee}`);
  return list;
}

export function badge(member: Member): [string, string] {
  if (member.state && member.state !== 'up' && !member.self) return ['bad', member.state];
  if (member.faulty) return ['bad', 'faulty clock'];
  if (member.status === 'unsynchronized' || member.status === 'minority') return ['bad', member.status];
  if (['holdover', 'alone'].includes(member.status)) return ['warn', member.status];
  return ['good', member.status || 'up'];
}

const weight = (member: Member) => ({ bad: 0, warn: 1, good: 2 })[badge(member)[0]] ?? 3;

function Table({ members }: { members: Member[] }) {
  const [filter, setFilter] = useState('');
  const rows = useMemo(() => members.filter((member) => `${member.name} ${member.state} ${member.status} ${member.role} ${member.address}`.includes(filter))
    .sort((a, b) => weight(a) - weight(b) || Number(b.role === 'master') - Number(a.role === 'master') || a.name.localeCompare(b.name, 'en', { numeric: true })), [members, filter]);
  return (
    <section>
      <div class="row"><h2>Members ({members.length})</h2>
        <label>Filter <input type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} /></label></div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Members">
        <table>
          <thead><tr><th scope="col">name</th><th scope="col">state</th><th scope="col">role</th><th scope="col">offset</th><th scope="col">error bound</th><th scope="col">heard</th><th scope="col">address</th></tr></thead>
          <tbody>{rows.slice(0, kMaxRows).map((member) => {
            const [kind, text] = badge(member);
            return (
              <tr key={member.id} class={kind}>
                <th scope="row"><a href={`#member/${member.id}`}>{member.name || member.id}</a>{member.self ? ' (here)' : ''}</th>
                <td><span class={`badge ${kind}`}>{text}</span></td><td>{member.role}</td>
                <td class="number">{span(member.offset_us)}</td><td class="number">{member.bound_us === undefined ? '–' : `± ${span(member.bound_us)}`}</td>
                <td class="number">{member.self ? '' : `${seconds(member.heard_ago_s)} ago`}</td><td>{member.address}</td>
              </tr>
            );
          })}</tbody>
        </table>
      </div>
      {rows.length > kMaxRows && <p>The first {kMaxRows} of {rows.length}; those with problems come first. The filter finds the others.</p>}
    </section>
  );
}

// Sources of time at the top, followers below; members that are not heard stand apart.
function Map({ status }: { status: Status }) {
  return (
    <section>
      <h2>Network map</h2>
      {status.networks.map((network) => {
        const heard = status.members.filter((member) => member.self || member.state === 'up');
        const lost = status.members.filter((member) => !heard.includes(member) && member.state !== 'gone');
        const master = heard.find((member) => member.name === network.master);
        const followers = heard.filter((member) => member !== master).slice(0, kMaxOnMap);
        const apart = lost.slice(0, kMaxOnMap);
        const columns = Math.min(Math.max(2, Math.min(6, Math.floor((innerWidth - 70) / 150))), Math.max(followers.length, apart.length, 1));
        const rows = Math.ceil(followers.length / columns), lostRows = Math.ceil(apart.length / columns);
        const step = 150, top = 92;
        const width = Math.max(columns * step, 300), lostTop = top + rows * 52 + 18;
        const height = (apart.length ? lostTop + lostRows * 52 : top + rows * 52) - 20;
        const x = (i: number, of: number) => (width - Math.min(of, columns) * step) / 2 + (i % columns) * step + step / 2;
        const node = (member: Member, cx: number, cy: number, kind: string) => (
          <a href={`#member/${member.id}`} key={member.id}>
            <rect class={`node ${kind}`} x={cx - 66} y={cy - 16} width="132" height="32" rx="7" />
            <text x={cx} y={cy + 5} text-anchor="middle">{(member.name || member.id).slice(0, 16)}</text>
          </a>
        );
        const hops = network.hops > 0 && network.root && network.root !== network.master;
        return (
          <div class="scroll" key={network.name} tabIndex={0} role="region" aria-label={`Map of ${network.name}`}>
            <p>{network.name}: {network.master ? <>{network.master} leads, epoch {network.epoch_round}{network.heir ? `, heir ${network.heir}` : ''}</> : <strong>no master is known</strong>}
              {hops ? `; its time comes from ${network.root}, ${network.hops} networks away` : ''}</p>
            <svg class="map" viewBox={`0 0 ${width} ${height}`} width={`${width / 15}rem`} height={`${height / 15}rem`} role="group" aria-label={`${followers.length} members follow ${network.master || 'nobody'}; ${lost.length} are not heard`}>
              {master && followers.map((member, i) => <path key={member.id} class="edge" d={`M${width / 2} 36C${width / 2} 66 ${x(i, followers.length)} 50 ${x(i, followers.length)} ${top - 16 + 52 * Math.floor(i / columns)}`} />)}
              {master && node(master, width / 2, 20, 'leader')}
              {followers.map((member, i) => node(member, x(i, followers.length), top + 52 * Math.floor(i / columns), badge(member)[0]))}
              {apart.length > 0 && <><path class="cut" d={`M0 ${lostTop - 34}H${width}`} /><text class="cut" x="4" y={lostTop - 16}>not heard from here</text>
                {apart.map((member, i) => node(member, x(i, apart.length), lostTop + 12 + 52 * Math.floor(i / columns), 'bad'))}</>}
            </svg>
            {heard.length - 1 > kMaxOnMap && <p>and {heard.length - 1 - kMaxOnMap} more followers</p>}
          </div>
        );
      })}
    </section>
  );
}

export function NetworkView({ state }: { state: State }) {
  const status = state.status!;
  const [span_s, setSpan] = useState(600);
  const shown = useMemo(() => [...status.members].filter((member) => member.bound_us !== undefined)
    .sort((a, b) => Number(b.self) - Number(a.self) || Number(b.role === 'master') - Number(a.role === 'master') || weight(a) - weight(b) || a.id.localeCompare(b.id)).slice(0, kMaxLines),
    [status.members]);
  const lines = useHistories(shown, span_s);
  const marks = useMemo(() => marksOf(state.events), [state.events]);
  const worst = status.members.reduce((most, member) => Math.max(most, member.bound_us ?? 0), 0);
  return (
    <>
      <dl class="tiles">
        <div><dt>this machine</dt><dd>{status.name}</dd><dd>{status.status}{status.reference ? ` to ${status.reference}` : ''}</dd></div>
        <div><dt>time</dt><dd id="bound">{bound(status)}</dd><dd>{status.status === 'unsynchronized' ? '' : `offset ${span(status.offset_us)}`}</dd></div>
        <div><dt>master</dt><dd id="master">{status.networks.map((network) => network.master || 'none').join(', ') || 'none'}</dd><dd>{status.networks.map((network) => network.name).join(', ')}</dd></div>
        <div><dt>members</dt><dd>{status.members.filter((member) => member.self || member.state === 'up').length} of {status.members.length} up</dd><dd>worst bound {span(worst)}</dd></div>
      </dl>
      {status.warnings.length > 0 && <details><summary>{status.warnings.length} warning{status.warnings.length > 1 ? 's' : ''}</summary><ul>{status.warnings.map((warning) => <li key={warning}>{warning}</li>)}</ul></details>}
      <Spans value={span_s} set={setSpan} />
      <Chart title="Offsets with their error bounds" lines={lines} marks={marks}
        summary={lines.map((line) => `${line.name}: ${span(line.points[line.points.length - 1][2])}`).join('; ')} />
      {status.members.length > kMaxLines && <p>Shown: this machine, the master, and the members with problems first. The page of a member has its chart.</p>}
      <Map status={status} />
      <Table members={status.members} />
    </>
  );
}
