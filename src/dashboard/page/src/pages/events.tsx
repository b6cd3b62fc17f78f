import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {byName, clockTime, plural} from '../format';
import type {EventsDocument, FleetEvent} from '../live/documents';
import {useView} from '../live/stream';
import {Ago, Badge, Card, Empty} from '../parts/basic';
import {Icon} from '../parts/icon';
import {RangeChoice, RangeNote, useKept} from '../parts/range';
import {Awaited, ConnectionNote, Filter, ReadingNote} from '../parts/shell';
import {Table, type Column} from '../parts/table';
import {href, replace, type Route} from '../route';

type Row = FleetEvent & {id: string};

const rows = new WeakMap<FleetEvent, Row>();
function rowOf(id: string, event: FleetEvent): Row {
  let made = rows.get(event);
  if (!made) rows.set(event, (made = {...event, id}));
  return made;
}

const columns: Column<Row>[] = [
  {key: 'time', title: 'Time', render: row => <span title={row.time}>{clockTime(row.time)}</span>},
  {key: 'controller', title: 'Who', wide: true, render: row => row.controller},
  {key: 'cluster', title: 'Where', wide: true, render: row => (row.cluster === 'hub' ? 'hub' : <a class="nowrap" href={href('cluster', row.cluster)}>{row.cluster}</a>)},
  {key: 'reason', title: 'What', render: row => <Badge tone={row.type === 'Warning' ? 'warn' : 'quiet'}>{row.reason}{(row.count ?? 1) > 1 && <span class="note"> ×{row.count}</span>}</Badge>},
  {key: 'object', title: 'Of', wide: true, render: row => row.object},
  {key: 'message', title: 'Why', grow: true, render: row => <span class="message">{row.message}</span>},
];

const emptyEvents: EventsDocument = {events: {}, silent: {}};

export function EventsPage({route}: {route: Route}) {
  const live = useView<EventsDocument>('events', emptyEvents);
  return (
    <>
      <ConnectionNote live={live} />
      {live.document ? <Events document={live.document} route={route} /> : <Awaited connection={live.connection} />}
    </>
  );
}

/** The filter is in the address, so that it can be sent to somebody. */
function useFilters(route: Route) {
  const [filters, set] = useState(() => Object.fromEntries(['text', 'controller', 'cluster', 'type', 'range'].map(key => [key, route.query.get(key) ?? ''])) as Record<'text' | 'controller' | 'cluster' | 'type' | 'range', string>);
  const change = (key: keyof typeof filters, value: string) => {
    const next = {...filters, [key]: value};
    set(next);
    replace(href('events', null, next));
  };
  return [filters, change] as const;
}

function Events({document: {events, silent = {}}, route}: {document: EventsDocument; route: Route}) {
  const [filters, change] = useFilters(route);
  const [held, setHeld] = useState<Record<string, FleetEvent> | null>(null);
  const range = filters.range || 'live';
  const kept = useKept(range);
  const older = kept.document?.events;
  const shown = useMemo(() => ({...older, ...(held ?? events)}), [older, held, events]);
  const all = useMemo(() => Object.keys(shown).sort().reverse().map(id => rowOf(id, shown[id]!)), [shown]);
  const controllers = useMemo(() => [...new Set(all.map(row => row.controller))].sort(byName), [all]);
  const clusters = useMemo(() => [...new Set(all.map(row => row.cluster))].sort(byName), [all]);
  const matching = useMemo(() => {
    const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
    return all.filter(row => (!filters.controller || row.controller === filters.controller) && (!filters.cluster || row.cluster === filters.cluster)
      && (!filters.type || row.type === filters.type)
      && words.every(word => `${row.reason} ${row.object} ${row.message} ${row.controller} ${row.cluster}`.toLowerCase().includes(word)));
  }, [all, filters]);
  return (
    <>
      <header class="page-head"><div><h1>Events</h1><p class="sub">Every decision of every controller, the newest first.</p></div></header>
      {Object.keys(silent).sort(byName).map(name => <ReadingNote key={name}>Events of {name} cannot be read: {silent[name]}. Later ones are missing.</ReadingNote>)}
      <Card id="events" title={plural(matching.length, 'event')} note={matching.length < all.length ? `of ${all.length.toLocaleString('en-US')}` : undefined} wide actions={
        <>
          <Select label="Controller" all="Every controller" value={filters.controller} options={controllers} onChange={value => change('controller', value)} />
          <Select label="Cluster" all="Everywhere" value={filters.cluster} options={clusters} onChange={value => change('cluster', value)} />
          <Select label="Type" all="All types" value={filters.type} options={['Normal', 'Warning']} onChange={value => change('type', value)} />
          <Filter label="Filter events" placeholder="Filter: words in any order" value={filters.text} onChange={value => change('text', value)} />
          <RangeChoice value={range} onChange={value => change('range', value === 'live' ? '' : value)} />
          <button type="button" aria-pressed={held !== null} onClick={() => setHeld(held ? null : events)}><Icon name={held ? 'play' : 'pause'} />{held ? 'Go on' : 'Hold'}</button>
        </>
      }>
        <RangeNote range={range} kept={kept} />
        <Announced events={events} held={held} />
        <Table label="Events" columns={columns} rows={matching} rowKey={row => row.id} detail={row => <Explained row={row} />}
          empty={all.length === 0
            ? <Empty title="Nothing has been decided yet">Every decision appears here by itself, with its reason. To see one: <code>kubectl scale</code> a Deployment in a member.</Empty>
            : <Empty title="No event is like that">Fewer words, or another controller.</Empty>} />
      </Card>
    </>
  );
}

function Select({label, all, value, options, onChange}: {label: string; all: string; value: string; options: string[]; onChange: (value: string) => void}) {
  return (
    <select aria-label={label} value={value} onChange={event => onChange(event.currentTarget.value)}>
      <option value="">{all}</option>
      {(value && !options.includes(value) ? [value, ...options] : options).map(option => <option key={option} value={option}>{option}</option>)}
    </select>
  );
}

function Explained({row}: {row: Row}) {
  return (
    <dl class="reasons">
      <div><dt>Said</dt><dd>{row.message || 'nothing more'}</dd></div>
      <div><dt>About</dt><dd>{row.object} in {row.cluster}</dd></div>
      <div><dt>By</dt><dd>{row.controller}, <Ago time={row.time} />{(row.count ?? 1) > 1 && `, ${row.count} times`}</dd></div>
    </dl>
  );
}

/** Tells a screen reader how many events came, at most every ten seconds, and everybody how many came since they held the list. */
function Announced({events, held}: {events: Record<string, FleetEvent>; held: Record<string, FleetEvent> | null}) {
  const [text, setText] = useState('');
  const seen = useRef(events);
  const latest = useRef(events);
  latest.current = events;
  useEffect(() => {
    const timer = setInterval(() => {
      const fresh = Object.keys(latest.current).filter(id => !(id in seen.current)).length;
      seen.current = latest.current;
      setText(fresh ? plural(fresh, 'new event') : '');
    }, 10_000);
    return () => clearInterval(timer);
  }, []);
  const since = held ? Object.keys(events).filter(id => !(id in held)).length : 0;
  return (
    <>
      <div class="unseen" role="status" aria-live="polite">{text}</div>
      {held && <p class="note">Held. {plural(since, 'event')} since.</p>}
    </>
  );
}
