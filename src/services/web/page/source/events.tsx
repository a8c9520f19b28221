// Events with their explanations, and the sections of the troubleshooting page.
import { useEffect, useState } from 'preact/hooks';
import { explanations } from './explain';
import { clock, date } from './text';
import type { State } from './types';

export function EventsView({ state }: { state: State }) {
  const [filter, setFilter] = useState('');
  const rows = state.events.filter((event) => `${event.name} ${event.text}`.toLowerCase().includes(filter.toLowerCase())).reverse();
  return (
    <section>
      <div class="row"><h2>Events</h2><label>Filter <input type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} /></label></div>
      <p>Of this machine, since tempo-web started; the newest first. Findings and their cures: <a href="#help">troubleshooting</a>.</p>
      {rows.length === 0 ? <p>None.</p> : <div class="scroll" tabIndex={0} role="region" aria-label="Events"><table id="events">
        <thead><tr><th scope="col">time</th><th scope="col">event</th><th scope="col">text</th><th scope="col">meaning</th></tr></thead>
        <tbody>{rows.map((event) => {
          const [meaning, code] = explanations[event.name] ?? [''];
          return <tr key={event.at_ns + event.name}><td class="number" title={date(event.at_ns)}>{clock(event.at_ns)}</td><th scope="row">{event.name}</th><td>{event.text}</td><td>{meaning} {code && <a href={`#help/${code}`}>{code}</a>}</td></tr>;
        })}</tbody>
      </table></div>}
    </section>
  );
}

// Markdown as far as that page uses it: headings, lists, code.
function inline(text: string) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split(/(`[^`]*`)/).map((part, i) => part.startsWith('`') ? <code key={i}>{part.slice(1, -1)}</code> : part);
}

function Markdown({ text }: { text: string }) {
  const parts: preact.ComponentChild[] = [];
  let code: string[] | null = null;
  text.split('\n').forEach((line, i) => {
    if (line.startsWith('```')) {
      if (code) { parts.push(<pre key={i}>{code.join('\n')}</pre>); code = null; } else code = [];
    } else if (code) code.push(line);
    else if (line.startsWith('#')) parts.push(<h3 key={i}>{inline(line.replace(/^#+ /, ''))}</h3>);
    else if (line.startsWith('- ')) parts.push(<p key={i} class="item">• {inline(line.slice(2))}</p>);
    else if (line.trim() && !line.startsWith('|')) parts.push(<p key={i}>{inline(line)}</p>);
  });
  return <>{parts}</>;
}

export function HelpView({ code }: { code: string }) {
  const [text, setText] = useState('');
  useEffect(() => { void fetch('/troubleshooting.md').then((reply) => reply.text()).then(setText); }, []);
  const begin = code ? text.indexOf(`### ${code}`) : -1;
  const rest = begin < 0 ? text : text.slice(begin);
  const end = begin < 0 ? -1 : rest.indexOf('\n##', 4);
  return <section><h2>Troubleshooting</h2>{code && <p><a href="#help">all sections</a></p>}<Markdown text={end < 0 ? rest : rest.slice(0, end)} /></section>;
}
