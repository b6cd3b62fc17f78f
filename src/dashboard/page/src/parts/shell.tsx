import type {ComponentChildren} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {byName} from '../format';
import type {Connection, Live} from '../live/stream';
import type {Session} from '../live/documents';
import {go, href, pages, type Page, type Route} from '../route';
import {switchTheme} from '../theme';
import {Skeleton} from './basic';
import {useNow, useTheme} from './hooks';
import {Icon} from './icon';
import {LoginForm} from './login';

const titles: Record<Page, string> = {fleet: 'Fleet', cluster: 'Cluster', balance: 'Balance', rollouts: 'Rollouts', events: 'Events', people: 'People'};
/** After g. */
const keys: Record<string, Page> = {f: 'fleet', c: 'cluster', b: 'balance', r: 'rollouts', e: 'events', p: 'people'};

export function Shell({route, cluster, session, search, children}: {route: Route; cluster: string | null; session: Session | null; search: () => void; children: ComponentChildren}) {
  useKeys(cluster, search);
  useEffect(() => {
    document.title = [route.page === 'cluster' || route.page === 'balance' ? cluster : null, titles[route.page], 'Evenkeel'].filter(Boolean).join(' · ');
  }, [route.page, cluster]);
  return (
    <>
      <a class="skip" href="#main" onClick={event => {
        event.preventDefault();
        document.getElementById('main')?.focus();
      }}>Skip to content</a>
      <header class="top">
        <a class="brand" href={href('fleet')}><Logo /><span>Evenkeel</span></a>
        <nav class="tabs" aria-label="Pages">
          {pages.map(page => (
            <a key={page} href={href(page, page === 'cluster' || page === 'balance' ? cluster : null)} {...(page === route.page ? {'aria-current': 'page'} : {})}>{titles[page]}</a>
          ))}
        </nav>
        <div class="top-end">
          <button type="button" class="search-button" onClick={search} aria-label="Search everything"><Icon name="search" /><span>Search</span> <kbd>/</kbd></button>
          {session && !Object.entries(session.may).some(([right, yes]) => yes && right !== 'logs') && <span class="note read-only">read-only</span>}
          {session && <a class="who" href={href('people')} {...(route.page === 'people' ? {'aria-current': 'page'} : {})} title={session.user}>{session.user.replace(/^.*:/, '')}</a>}
          <ThemeSwitch />
        </div>
      </header>
      <main id="main" tabIndex={-1}>{children}</main>
      <footer class="foot">
        <span>{session ? `Evenkeel ${session.version}` : 'Evenkeel'}</span>
        <span class="keys"><kbd>g</kbd> <kbd>f</kbd>/<kbd>c</kbd>/<kbd>b</kbd>/<kbd>r</kbd>/<kbd>e</kbd>/<kbd>p</kbd> pages · <kbd>/</kbd> search · <kbd>f</kbd> filter · <kbd>[</kbd> <kbd>]</kbd> other cluster · <kbd>t</kbd> light or dark</span>
      </footer>
    </>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <path class="hull" d="M5 18h22c-1.5 5-5.9 8-11 8S6.5 23 5 18Z" />
      <path class="sail" d="M16 4v10.5M16 4l7.5 10.5h-15Z" />
    </svg>
  );
}

export function ThemeSwitch() {
  const dark = useTheme() === 'dark';
  return (
    <button type="button" class="icon-button" onClick={switchTheme} aria-label={dark ? 'Use light colours' : 'Use dark colours'} title={dark ? 'Light' : 'Dark'}>
      <Icon name={dark ? 'sun' : 'moon'} />
    </button>
  );
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function useKeys(cluster: string | null, search: () => void) {
  useEffect(() => {
    let awaited = 0;
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector('dialog[open]')) return;
      const page = keys[event.key];
      if (Date.now() < awaited && page) {
        go(href(page, page === 'cluster' || page === 'balance' ? cluster : null));
      } else if (event.key === 'g') {
        awaited = Date.now() + 1500;
        return;
      } else if (event.key === '/') {
        search();
        event.preventDefault();
      } else if (event.key === 'f') {
        const filter = document.querySelector<HTMLInputElement>('[data-filter]');
        if (!filter) return;
        filter.focus();
        filter.select();
        event.preventDefault();
      } else if (event.key === 't') {
        switchTheme();
      } else if (event.key === '[' || event.key === ']') {
        document.querySelector<HTMLButtonElement>(event.key === '[' ? '[data-previous]' : '[data-next]')?.click();
      }
      awaited = 0;
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [cluster]);
}

/** Says what is the matter with the connection, and nothing while it is well. */
export function ConnectionNote({live}: {live: Live<unknown>}) {
  const {connection, lostAt, message} = live;
  const now = useNow();
  const [was, setWas] = useState(connection);
  const [again, setAgain] = useState(false);
  if (was !== connection) {
    setWas(connection);
    setAgain(connection === 'live' && (was === 'lost' || was === 'denied'));
  }
  useEffect(() => {
    if (!again) return undefined;
    const timer = setTimeout(() => setAgain(false), 4000);
    return () => clearTimeout(timer);
  }, [again]);
  const before = live.document ? ': what you see is from before' : '';
  return (
    <>
      <div class="unseen" role="status" aria-live="polite">
        {connection === 'lost' ? 'The connection was lost.' : connection === 'refused' ? message : again ? 'Connected again.' : ''}
      </div>
      {connection === 'lost' && (
        <p class="banner bad">
          <Icon name="warning" /> No connection{lostAt ? ` for ${Math.max(0, Math.round((now - lostAt) / 1000))} s` : ''}{before}. Trying again by itself.
        </p>
      )}
      {connection === 'refused' && (
        <p class="banner bad">
          <Icon name="warning" /><span>The server says: {message}{before && '. What you see is from before'}. Trying again by itself.</span>
        </p>
      )}
      {connection === 'denied' && (
        <>
          <p class="banner bad"><Icon name="warning" /> Not logged in, or the session has ended.</p>
          <LoginForm />
        </>
      )}
      {again && <p class="banner ok"><Icon name="check" /> Connected again.</p>}
    </>
  );
}

/** In the place of a document that is not there: that it comes, unless the note above says why it does not. */
export function Awaited({connection}: {connection: Connection}) {
  return connection === 'denied' || connection === 'refused' ? null : <Skeleton />;
}

/** Says that what is below is old, or lacks something, and why. */
export function ReadingNote({children}: {children: ComponentChildren}) {
  return <p class="banner warn"><Icon name="warning" /><span>{children}</span></p>;
}

/** Which cluster a page is about. */
export function ClusterPicker({page, cluster, names, children}: {page: Page; cluster: string; names: string[]; children?: ComponentChildren}) {
  const sorted = [...new Set([...names, cluster])].sort(byName);
  const at = sorted.indexOf(cluster);
  const step = (by: number) => go(href(page, sorted[(at + by + sorted.length) % sorted.length]!));
  return (
    <div class="picker">
      <h1 class="unseen">{cluster}</h1>
      <button type="button" class="icon-button back" data-previous aria-label="Previous cluster" disabled={sorted.length < 2} onClick={() => step(-1)}><Icon name="arrow" /></button>
      <select aria-label="Cluster" value={cluster} onChange={event => go(href(page, event.currentTarget.value))}>
        {sorted.map(name => <option key={name} value={name}>{name}</option>)}
      </select>
      <button type="button" class="icon-button" data-next aria-label="Next cluster" disabled={sorted.length < 2} onClick={() => step(1)}><Icon name="arrow" /></button>
      {children}
    </div>
  );
}

export function Filter({value, onChange, label, placeholder}: {value: string; onChange: (value: string) => void; label: string; placeholder: string}) {
  return (
    <input
      class="filter" type="search" data-filter aria-label={label} placeholder={placeholder} value={value} spellcheck={false} autocomplete="off"
      onInput={event => onChange(event.currentTarget.value)}
      onKeyDown={event => event.key === 'Escape' && (value ? onChange('') : event.currentTarget.blur())}
    />
  );
}
