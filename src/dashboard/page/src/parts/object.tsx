import {useEffect, useRef, useState} from 'preact/hooks';
import {clockTime} from '../format';
import type {ObjectDocument} from '../live/documents';
import {ask} from '../live/session';
import {useParam, withParams, replace, type Looked} from '../route';
import {ActButton, useMay} from './act';
import {Badge, Choice, Empty} from './basic';
import {Icon} from './icon';

const lineChoices = [['100', 'last 100'], ['500', 'last 500'], ['5000', 'last 5,000']] as const;

/** One object over the page: its events, its YAML, what its containers wrote, and what can be done with it. */
export function ObjectPane({looked}: {looked: Looked}) {
  const {kind, cluster, namespace, name} = looked;
  const dialog = useRef<HTMLDialogElement>(null);
  const [object, setObject] = useState<ObjectDocument | null>(null);
  const [problem, setProblem] = useState('');
  const [again, setAgain] = useState(0);
  const [tab, setTab] = useParam('tab', 'events');
  const mayLogs = useMay('logs');
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
    // From the first key on, the text is what is scrolled.
    dialog.current?.focus();
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams({cluster, kind, namespace, name});
    void ask<ObjectDocument>(`/api/object?${query.toString()}`, abort.signal).then(answer => {
      if (abort.signal.aborted) return;
      if (answer.value) setObject(answer.value);
      setProblem(answer.problem);
    });
    return () => abort.abort();
  }, [kind, cluster, namespace, name, again]);
  const close = () => {
    replace(withParams({object: '', tab: ''}));
    dispatchEvent(new HashChangeEvent('hashchange'));
  };
  const tabs: [string, string][] = [['events', 'Events'], ['yaml', 'YAML'], ...(kind === 'Pod' && mayLogs ? [['logs', 'Logs'] as [string, string]] : [])];
  const refresh = () => setAgain(count => count + 1);
  return (
    <dialog ref={dialog} class="object" aria-labelledby="object-title" onClose={close}>
      <header class="card-head">
        <h2 id="object-title">{kind} {namespace && `${namespace}/`}{name}</h2>
        <span class="note">{cluster || 'hub'}</span>
        <div class="actions">
          {kind === 'Node' && object && <NodeActs cluster={cluster} name={name} cordoned={object.unschedulable} done={refresh} />}
          <button type="button" onClick={refresh}>Refresh</button>
          <button type="button" class="icon-button" aria-label="Close" onClick={() => dialog.current?.close()}><Icon name="cross" /></button>
        </div>
      </header>
      <Choice label="What to show" value={tab} onChange={setTab} options={tabs} />
      {problem && <p class="banner bad" role="alert"><Icon name="warning" /><span>{problem}</span></p>}
      {!object && !problem && <p role="status">Reading …</p>}
      {object && tab === 'events' && <ObjectEvents object={object} />}
      {object && tab === 'yaml' && <pre class="text" tabIndex={0} aria-label="YAML">{object.yaml}</pre>}
      {object && tab === 'logs' && kind === 'Pod' && <Logs cluster={cluster} namespace={namespace} name={name} containers={object.containers} />}
    </dialog>
  );
}

function NodeActs({cluster, name, cordoned, done}: {cluster: string; name: string; cordoned: boolean; done: () => void}) {
  return (
    <>
      {cordoned
        ? <ActButton act={{action: 'uncordon', cluster, name}} right="cordon" label="Uncordon" done={done} />
        : <ActButton act={{action: 'cordon', cluster, name}} right="cordon" label="Cordon" done={done} />}
      <ActButton act={{action: 'drain', cluster, name}} right="drain" label="Drain" done={done} />
    </>
  );
}

function ObjectEvents({object}: {object: ObjectDocument}) {
  if (object.eventsUnread) return <Empty title="Its events cannot be read">{object.eventsUnread}</Empty>;
  if (object.events.length === 0) return <Empty title="No event">Nothing was said of it, or it is longer ago than its cluster keeps events (as a rule an hour).</Empty>;
  return (
    <ol class="object-events" tabIndex={0} aria-label="Events">
      {object.events.map((event, index) => (
        <li key={index}>
          <span><time dateTime={event.time}>{clockTime(event.time)}</time> <Badge tone={event.type === 'Warning' ? 'warn' : 'quiet'}>{event.reason}{event.count > 1 && ` ×${event.count}`}</Badge> <span class="note">{event.by}</span></span>
          <span>{event.message}</span>
        </li>
      ))}
    </ol>
  );
}

function Logs({cluster, namespace, name, containers}: {cluster: string; namespace: string; name: string; containers: string[]}) {
  const [container, setContainer] = useParam('container', containers[0] ?? '');
  const [lines, setLines] = useParam('lines', '500');
  const [previous, setPrevious] = useParam('previous', '');
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState('');
  const [again, setAgain] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams({cluster, namespace, pod: name, container, lines, ...(previous ? {previous: 'true'} : {})});
    void ask<{text: string}>(`/api/logs?${query.toString()}`, abort.signal).then(answer => {
      if (abort.signal.aborted) return;
      setText(answer.value?.text ?? null);
      setProblem(answer.problem);
    });
    return () => abort.abort();
  }, [cluster, namespace, name, container, lines, previous, again]);
  return (
    <>
      <div class="actions log-choices">
        {containers.length > 1 && (
          <select aria-label="Container" value={container} onChange={event => setContainer(event.currentTarget.value)}>
            {containers.map(each => <option key={each} value={each}>{each}</option>)}
          </select>
        )}
        <select aria-label="How many lines" value={lines} onChange={event => setLines(event.currentTarget.value)}>
          {lineChoices.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
        </select>
        <button type="button" aria-pressed={previous !== ''} onClick={() => setPrevious(previous ? '' : 'true')}>Before its restart</button>
        <button type="button" onClick={() => setAgain(count => count + 1)}>Read again</button>
      </div>
      {problem && <p class="bad-text" role="alert">{problem}</p>}
      {text !== null && (text ? <pre class="text" tabIndex={0} aria-label={`Log of ${container}`}>{text}</pre> : <Empty title="It has written nothing" />)}
    </>
  );
}
