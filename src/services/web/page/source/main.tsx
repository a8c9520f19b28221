// The page of tempo-web.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { EventsView, HelpView } from './events';
import { LocksView } from './locks';
import { MemberView } from './member';
import { alarms, NetworkView } from './network';
import { connect, useStore } from './store';

const views = [['network', 'Network'], ['member', 'Member'], ['locks', 'Locks and groups'], ['events', 'Events']] as const;

function useHash(): string {
  const [hash, setHash] = useState(location.hash.slice(1));
  useEffect(() => {
    const change = () => setHash(location.hash.slice(1));
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return hash || 'network';
}

const themes = ['auto', 'light', 'dark'];
function setTheme(theme: string) {
  if (theme === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('tempo-theme'));
}

function App() {
  const { link, state } = useStore();
  const [view, argument = ''] = useHash().split('/');
  const [theme, choose] = useState(localStorage.getItem('theme') ?? 'auto');
  useEffect(() => { localStorage.setItem('theme', theme); setTheme(theme); }, [theme]);
  const status = state?.status;
  const problems = state ? alarms(state) : [];
  if (link === 'lost') problems.unshift('No connection to tempo-web; trying again.');
  const newest = state?.events[state.events.length - 1];
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to content</a>
      <header>
        <h1>tempo{status ? <span> {status.cluster} · {status.name}</span> : null}</h1>
        <nav aria-label="Views">{views.map(([name, title]) => <a key={name} href={`#${name}`} aria-current={view === name ? 'page' : undefined}>{title}</a>)}</nav>
        <span class={`link ${link}`} id="link">{link}</span>
        <label class="theme">Theme <select value={theme} onChange={(e) => choose(e.currentTarget.value)}>{themes.map((one) => <option key={one}>{one}</option>)}</select></label>
      </header>
      <div role="alert" id="alarms">{problems.map((problem) => <p key={problem}>{problem}</p>)}</div>
      <p class="hidden" aria-live="polite">{newest ? `${newest.name}: ${newest.text}` : ''}</p>
      <main id="main" tabIndex={-1}>
        {view === 'help' ? <HelpView code={argument} />
          : !state || !status ? <p>Waiting for tempod.</p>
          : view === 'member' ? <MemberView state={state} id={argument} />
          : view === 'locks' ? <LocksView state={state} />
          : view === 'events' ? <EventsView state={state} />
          : <NetworkView state={state} />}
      </main>
      <footer>{status ? `tempod ${status.version}; read only; ` : ''}<a href="/metrics">metrics</a> · <a href="/api/v1/status">JSON</a></footer>
    </>
  );
}

connect();
render(<App />, document.getElementById('app')!);
