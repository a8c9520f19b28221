// Locks, voters and groups, and the history of their hand-overs.
import { clock, seconds } from './text';
import type { State } from './types';

export function LocksView({ state }: { state: State }) {
  const locks = state.locks;
  const groups = state.groups?.groups ?? [];
  return (
    <>
      <section>
        <h2>Voters</h2>
        <p>{locks ? locks.guarantee : 'tempod has not answered yet.'}{locks?.losses_survived !== undefined ? `; ${locks.votes_needed} votes are needed; ${locks.losses_survived} more voters may fail.` : ''}</p>
        {locks && locks.voters.length > 0 && <div class="scroll"><table>
          <thead><tr><th scope="col">voter</th><th scope="col">state</th><th scope="col">votes</th><th scope="col">heard</th></tr></thead>
          <tbody>{locks.voters.map((voter) => <tr key={voter.host}><th scope="row">{voter.host}</th>
            <td><span class={`badge ${voter.reachable ? 'good' : 'bad'}`}>{voter.state}</span></td><td class="number">{voter.votes}</td>
            <td class="number">{voter.state === 'this machine' ? 'here' : `${seconds(voter.heard_ago_s)} ago`}</td></tr>)}</tbody>
        </table></div>}
      </section>
      <section>
        <h2>Locks</h2>
        {!locks?.locks.length ? <p>No lock is in use.</p> : <div class="scroll" tabIndex={0} role="region" aria-label="Locks"><table id="locks">
          <thead><tr><th scope="col">name</th><th scope="col">holder</th><th scope="col">lease left</th><th scope="col">held by</th><th scope="col">token</th><th scope="col">waiting</th></tr></thead>
          <tbody>{locks.locks.map((lock) => {
            const inside = lock.clients.filter((client) => client.inside), waits = lock.clients.filter((client) => !client.inside);
            return (
              <tr key={lock.name}><th scope="row">{lock.name}</th><td>{lock.holder || '–'}{lock.here ? ' (here)' : ''}{lock.shared ? ', shared' : ''}</td>
                <td class="number">{lock.holder ? seconds(Math.max(lock.left_s, 0)) : '–'}</td>
                <td>{inside.map((client) => `process ${client.pid}, ${seconds(client.since_s)}`).join('; ') || '–'}</td>
                <td class="number">{inside.map((client) => client.token).filter((token) => token !== '0').join(', ') || '–'}</td>
                <td>{[...waits.map((client) => `process ${client.pid}, ${seconds(client.since_s)}`), ...lock.elsewhere.map((waiter) => `${waiter.host}, ${seconds(waiter.since_s)}`)].join('; ') || '–'}</td></tr>
            );
          })}</tbody>
        </table></div>}
      </section>
      <section>
        <h2>Groups</h2>
        {groups.length === 0 ? <p>No group is known.</p> : <div class="scroll" tabIndex={0} role="region" aria-label="Groups"><table>
          <thead><tr><th scope="col">name</th><th scope="col">leader</th><th scope="col">term</th><th scope="col">criterion</th><th scope="col">candidates</th></tr></thead>
          <tbody>{groups.map((group) => <tr key={group.name}><th scope="row">{group.name}</th><td>{group.leader || 'none'}{group.here ? ' (here)' : ''}</td><td class="number">{group.term}</td>
            <td>{group.criterion}, {group.algorithm}</td><td>{group.candidates.map((candidate) => `${candidate.host} ${candidate.capacity}`).join('; ') || '–'}</td></tr>)}</tbody>
        </table></div>}
      </section>
      <section>
        <h2>Hand-overs</h2>
        {state.moves.length === 0 ? <p>None since tempo-web started.</p> : <div class="scroll" tabIndex={0} role="region" aria-label="Hand-overs"><table id="moves">
          <thead><tr><th scope="col">time</th><th scope="col">of</th><th scope="col">from</th><th scope="col">to</th><th scope="col">token</th></tr></thead>
          <tbody>{[...state.moves].reverse().map((move, i) => <tr key={i}><td class="number">{clock(move.at_ns)}</td><th scope="row">{move.what} {move.name}</th><td>{move.from || '–'}</td><td>{move.to}</td><td class="number">{move.token || '–'}</td></tr>)}</tbody>
        </table></div>}
      </section>
    </>
  );
}
