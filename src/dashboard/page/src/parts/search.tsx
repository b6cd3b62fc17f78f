import {useEffect, useRef, useState} from 'preact/hooks';
import {byName, plural} from '../format';
import type {FoundThing, FoundThings} from '../live/documents';
import {ask} from '../live/session';
import {go, href} from '../route';

interface Entry {
  to: string;
  kind: string;
  name: string;
  note: string;
}

const waitMs = 150;

function entryOf(thing: FoundThing): Entry {
  if (thing.kind === 'NodeGroup') return {to: `${href('cluster', thing.cluster)}`, kind: 'group', name: thing.name, note: thing.cluster};
  const kind = thing.kind === 'Pod' ? 'pod' : 'node';
  return {to: href('cluster', thing.cluster, {object: `${kind}/${thing.cluster}/${thing.name}`}), kind, name: thing.name, note: `${thing.cluster}${thing.state ? `, ${thing.state}` : ''}${thing.node ? ` on ${thing.node}` : ''}`};
}

/** Looks for clusters, nodes, node groups and pods of all members by words, and leads there. */
export function Search({names, close}: {names: string[]; close: () => void}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [things, setThings] = useState<FoundThings | null>(null);
  const [problem, setProblem] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    setAt(0);
    const wanted = text.trim();
    if (!wanted) {
      setThings(null);
      setProblem('');
      return undefined;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      void ask<FoundThings>(`/api/find?${new URLSearchParams({text: wanted, limit: '30'}).toString()}`, abort.signal).then(answer => {
        if (abort.signal.aborted) return;
        setThings(answer.value);
        setProblem(answer.problem);
      });
    }, waitMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const clusters = words.length === 0 ? [] : names.filter(name => words.every(word => name.toLowerCase().includes(word))).sort(byName).slice(0, 8);
  const entries: Entry[] = [
    ...clusters.map((name): Entry => ({to: href('cluster', name), kind: 'cluster', name, note: ''})),
    ...(things?.found ?? []).map(entryOf),
    ...(words.length ? [{to: href('events', null, {text: text.trim()}), kind: 'events', name: `with “${text.trim()}”`, note: ''}] : []),
  ];
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    dialog.current?.close();
    go(entry.to);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, entries.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') take(entries[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="search" aria-label="Search" onClose={close}>
      <input type="search" class="filter" placeholder="Cluster, node, group or pod" aria-label="Search everything" value={text} autocomplete="off" spellcheck={false}
        role="combobox" aria-expanded={entries.length > 0} aria-controls="search-found" aria-activedescendant={entries[at] ? `search-${at}` : undefined}
        onInput={event => setText(event.currentTarget.value)} onKeyDown={pressed} />
      {problem && <p class="bad-text" role="alert">{problem}</p>}
      <ul id="search-found" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <li key={entry.to} id={`search-${index}`} role="option" aria-selected={index === at} onClick={() => take(entry)}>
            <span class="note">{entry.kind}</span> <b>{entry.name}</b> <span class="note">{entry.note}</span>
          </li>
        ))}
      </ul>
      <p class="note" role="status">
        {things && things.total > things.found.length && `The first ${things.found.length} of ${things.total.toLocaleString('en-US')}. `}
        {things && things.missing.length > 0 && `${plural(things.missing.length, 'member')} cannot be asked: ${things.missing.slice(0, 5).join(', ')}${things.missing.length > 5 ? ' …' : ''}.`}
      </p>
    </dialog>
  );
}
