import {useEffect, useState} from 'preact/hooks';
import {byName} from '../format';
import type {FoundThing, FoundThings} from '../live/documents';
import {ask} from '../live/session';
import {useParam} from '../route';
import {Ago, Badge, Card, Empty, type Tone} from './basic';
import {Filter} from './shell';
import {ObjectLink} from './object_link';
import {Table, type Column} from './table';

const everyMs = 5_000;
const typingMs = 200;
const states = ['Running', 'Pending', 'Succeeded', 'Failed', 'Leaving'];

function toneOf(pod: FoundThing): Tone {
  if (pod.state === 'Failed') return 'bad';
  if (pod.state === 'Running') return pod.ready === pod.containers ? 'ok' : 'warn';
  return pod.state === 'Pending' ? 'warn' : 'quiet';
}

const columns: Column<FoundThing>[] = [
  {key: 'name', title: 'Pod', grow: true, compare: (a, b) => byName(a.name, b.name), render: row => <ObjectLink kind="pod" cluster={row.cluster} name={row.name}>{row.name}</ObjectLink>},
  {key: 'state', title: 'State', compare: (a, b) => byName(a.state ?? '', b.state ?? ''), render: row => <Badge tone={toneOf(row)}>{row.state}</Badge>},
  {key: 'ready', title: 'Ready', numeric: true, render: row => `${row.ready ?? 0}/${row.containers ?? 0}`},
  {key: 'restarts', title: 'Restarts', numeric: true, wide: true, compare: (a, b) => (a.restarts ?? 0) - (b.restarts ?? 0), render: row => row.restarts ?? 0},
  {key: 'node', title: 'Node', wide: true, compare: (a, b) => byName(a.node ?? '', b.node ?? ''), render: row => row.node ? <ObjectLink kind="node" cluster={row.cluster} name={row.node}>{row.node}</ObjectLink> : '–'},
  {key: 'since', title: 'Made', wide: true, compare: (a, b) => byName(b.since ?? '', a.since ?? ''), render: row => <Ago time={row.since} />},
];

/** The pods of a cluster, or of one of its nodes, by words: asked again every few seconds, as there may be very many. */
export function Pods({cluster}: {cluster: string}) {
  const [text, setText] = useParam('pods');
  const [state, setState] = useParam('state');
  const [found, setFound] = useState<FoundThings | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const query = new URLSearchParams({cluster, kind: 'Pod', limit: '500', text, state});
    const read = async () => {
      if (!document.hidden) {
        const answer = await ask<FoundThings>(`/api/find?${query.toString()}`, abort.signal);
        if (abort.signal.aborted) return;
        if (answer.value) setFound(answer.value);
        setProblem(answer.problem);
      }
      timer = window.setTimeout(() => void read(), everyMs);
    };
    timer = window.setTimeout(() => void read(), found ? typingMs : 0);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [cluster, text, state]);
  const unread = found?.missing.length ? `${cluster} cannot be read: its pods are not known` : problem;
  return (
    <Card id="pods" title="Pods" wide note={found && !unread && (found.total > found.found.length ? `the first ${found.found.length} of ${found.total.toLocaleString('en-US')}` : found.total.toLocaleString('en-US'))}
      actions={
        <>
          <select aria-label="State of pods" value={state} onChange={event => setState(event.currentTarget.value)}>
            <option value="">Every state</option>
            {states.map(each => <option key={each} value={each}>{each}</option>)}
          </select>
          <Filter label="Filter pods" placeholder="Filter by name or node" value={text} onChange={setText} />
        </>
      }>
      {unread && <p class="banner warn" role="alert">{unread}</p>}
      {(found?.found.length || !unread) && <Table label={`Pods of ${cluster}`} columns={columns} rows={found?.found ?? []} rowKey={row => row.name} pageSize={20}
        empty={found ? <Empty title={text || state ? 'No pod is like that' : 'No pod yet'} /> : <p role="status">Reading …</p>} />}
    </Card>
  );
}
