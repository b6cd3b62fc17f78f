import {useMemo} from 'preact/hooks';
import {byName, nodesNote, number, percent, plural} from '../format';
import {emptyCluster, type ClusterDocument, type ClusterNode, type PendingPod} from '../live/documents';
import {useView} from '../live/stream';
import {Ago, Card, Choice, Empty, Meter, MetricChoice, Since, Stat, StateBadge} from '../parts/basic';
import {HeatLegend, HeatMap, type CellGroup} from '../parts/heat_map';
import {HistoryChart} from '../parts/history';
import {useChoice} from '../parts/hooks';
import {NodeGroups} from '../parts/node_groups';
import {Pods} from '../parts/pods';
import {RangeChoice, RangeNote, useKept} from '../parts/range';
import {Awaited, ClusterPicker, ConnectionNote, Filter, ReadingNote} from '../parts/shell';
import {ObjectLink} from '../parts/object_link';
import {Table, type Column} from '../parts/table';
import {href, useParam} from '../route';

type Node = ClusterNode & {name: string};
type Pending = PendingPod & {name: string};

export function ClusterPage({cluster, names}: {cluster: string; names: string[]}) {
  const live = useView(`cluster/${cluster}`, emptyCluster);
  const {document} = live;
  return (
    <>
      <ConnectionNote live={live} />
      {document
        ? <Cluster document={document.name ? document : {...document, name: cluster}} names={names} />
        : live.connection === 'refused' ? <ClusterPicker page="cluster" cluster={cluster} names={names} /> : <Awaited connection={live.connection} />}
    </>
  );
}

function Cluster({document: cluster, names}: {document: ClusterDocument; names: string[]}) {
  const unknown = Boolean(cluster.unknownSince);
  const rows = useMemo(() => Object.entries(cluster.nodes).map(([name, node]): Node => ({...node, name, ...(unknown ? {state: 'Unknown' as const} : {})})).sort((a, b) => byName(a.name, b.name)), [cluster.nodes, unknown]);
  const [chosen, choose] = useParam('node');
  const selected = chosen || null;
  const select = (name: string | null) => choose(name ?? '');
  const pending = useMemo(() => Object.entries(cluster.pending).map(([name, pod]): Pending => ({...pod, name})), [cluster.pending]);
  const pendingTotal = cluster.pendingTotal ?? pending.length;
  const notReady = rows.filter(row => row.state === 'NotReady').length;
  const upcoming = Object.values(cluster.groups).reduce((sum, group) => sum + group.upcoming, 0);
  const load = cluster.history.at(-1)?.[1];
  const [range, setRange] = useParam('range', 'live');
  const kept = useKept(range, cluster.name);
  const history = range !== 'live' && kept.document?.points ? kept.document.points : cluster.history;
  // Nobody scales what cannot be reached.
  const groups = unknown ? Object.fromEntries(Object.entries(cluster.groups).map(([name, group]) => [name, {...group, scalable: false}])) : cluster.groups;
  // Nothing has ever been read of it, which is not that there is nothing.
  const nothing = unknown && rows.length === 0;
  return (
    <>
      {cluster.unread && <ReadingNote>{cluster.name} cannot be read<Since time={cluster.unknownSince} />: {cluster.unread}. Whatever you see of it is from before.</ReadingNote>}
      <header class="page-head">
        <div>
          <ClusterPicker page="cluster" cluster={cluster.name} names={names}><StateBadge state={cluster.health} /></ClusterPicker>
          <p class="sub">
            {cluster.owner ? <>owned by <b>{cluster.owner}</b></> : <span class="bad-text">nobody owns it</span>}
            {cluster.server && <> · <code>{cluster.server}</code></>} · <a href={href('balance', cluster.name)}>balance</a> · <a href={href('events', null, {cluster: cluster.name})}>events</a>
          </p>
          {cluster.message && !cluster.unread && <p class="sub">{cluster.message}</p>}
        </div>
        <dl class="stats">
          <Stat label="Nodes" value={nothing ? '–' : rows.length} note={nothing ? 'unknown' : unknown ? 'from before' : nodesNote(notReady, upcoming)} tone={unknown ? 'quiet' : notReady ? 'warn' : 'ok'} />
          <Stat label="Pending pods" value={nothing ? '–' : pendingTotal} note={nothing ? 'unknown' : unknown ? 'from before' : pendingTotal ? 'see why below' : 'every pod has a node'} tone={unknown ? 'quiet' : pendingTotal ? 'warn' : 'ok'} />
          <Stat label="CPU" value={nothing ? '–' : percent(load?.cpu)} note="requested of allocatable" />
          <Stat label="Memory" value={nothing ? '–' : percent(load?.memory)} note="requested of allocatable" />
        </dl>
      </header>
      {nothing ? <Empty title="Nothing is known of it">It appears here when it can be reached.</Empty> : (<div class="grid">
        <Nodes cluster={cluster} rows={rows} selected={selected} select={select} />
        <Card id="pending" title="Pending pods" note={pendingTotal > pending.length ? `the ${pending.length} that wait longest, of ${pendingTotal.toLocaleString('en-US')}` : pending.length ? 'and why no node group helps' : undefined} wide={pending.length > 0}>
          <PendingPods cluster={cluster.name} rows={pending} groups={Object.keys(cluster.groups)} />
        </Card>
        <Pods cluster={cluster.name} />
        <Card id="groups" title="Node groups" note="ready and target between min and max">
          <NodeGroups cluster={cluster.name} groups={groups} />
        </Card>
        <Card id="scale-down" title="Scale-down" note={cluster.scaleDown?.enabled === false ? 'switched off' : undefined}>
          <ScaleDown cluster={cluster} rows={rows} select={select} />
        </Card>
        <Card id="history-nodes" title="Nodes and pending pods" actions={<RangeChoice value={range} onChange={setRange} />}><RangeNote range={range} kept={kept} /><HistoryChart title="Nodes and pending pods" history={history} names={['nodes', 'pending']} format={value => number(value, 0)} atLeast={4} style="step" /></Card>
        <Card id="history-load" title="Load"><HistoryChart title="Load" history={history} names={['cpu', 'memory']} format={percent} atLeast={1} /></Card>
      </div>)}
    </>
  );
}

function words(node: Node, metric: string): string {
  const share = node.load[metric];
  return `${node.name}: ${node.state}, ${metric} ${share === undefined ? 'unknown' : percent(share)}, ${plural(node.pods, 'pod')}${node.waits ? `; ${node.waits}` : ''}`;
}

const nodeColumns = (cluster: string): Column<Node>[] => [
  {key: 'name', title: 'Node', compare: (a, b) => byName(a.name, b.name), grow: true, render: row => <ObjectLink kind="node" cluster={cluster} name={row.name}>{row.name}</ObjectLink>},
  {key: 'state', title: 'State', compare: (a, b) => byName(a.state, b.state), render: row => <StateBadge state={row.state} />},
  {key: 'group', title: 'Group', compare: (a, b) => byName(a.group ?? '', b.group ?? ''), wide: true, render: row => row.group ?? '–'},
  {key: 'zone', title: 'Zone', compare: (a, b) => byName(a.zone ?? '', b.zone ?? ''), wide: true, render: row => row.zone ?? '–'},
  {key: 'pods', title: 'Pods', numeric: true, compare: (a, b) => a.pods - b.pods, render: row => row.pods},
  {key: 'cpu', title: 'CPU', compare: (a, b) => (a.load.cpu ?? 0) - (b.load.cpu ?? 0), render: row => <Meter share={row.load.cpu} label="cpu" threshold={0.9} />},
  {key: 'memory', title: 'Memory', wide: true, compare: (a, b) => (a.load.memory ?? 0) - (b.load.memory ?? 0), render: row => <Meter share={row.load.memory} label="memory" threshold={0.9} />},
  {key: 'waits', title: 'Scale-down', wide: true, grow: true, render: row => row.waits ?? ''},
];

function Nodes({cluster, rows, selected, select}: {cluster: ClusterDocument; rows: Node[]; selected: string | null; select: (name: string | null) => void}) {
  const [view, setView] = useChoice('nodes', 'map');
  const [metric, setMetric] = useChoice('metric', 'cpu');
  const [by, setBy] = useChoice('group-by', 'type');
  const [text, setText] = useParam('text');
  const metrics = cluster.metrics.length ? cluster.metrics : ['cpu'];
  const shownMetric = metrics.includes(metric) ? metric : metrics[0]!;
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return wanted ? rows.filter(row => `${row.name} ${row.group ?? ''} ${row.type ?? ''} ${row.zone ?? ''} ${row.state}`.toLowerCase().includes(wanted)) : rows;
  }, [rows, text]);
  const groups = useMemo(() => {
    const out = new Map<string, Node[]>();
    for (const row of shown) {
      const name = (by === 'zone' ? row.zone : by === 'group' ? row.group : row.type) ?? 'other';
      const list = out.get(name);
      if (list) list.push(row);
      else out.set(name, [row]);
    }
    return [...out].sort(([a], [b]) => byName(a, b)).map(([name, nodes]): CellGroup => ({
      name, note: plural(nodes.length, 'node'), cells: nodes.map(node => ({name: node.name, share: node.state === 'Unknown' ? null : node.load[shownMetric] ?? null, state: node.state, words: words(node, shownMetric)})),
    }));
  }, [shown, by, shownMetric]);
  const node = rows.find(row => row.name === selected);
  const columns = useMemo(() => nodeColumns(cluster.name), [cluster.name]);
  return (
    <Card id="nodes" title="Nodes" wide actions={
      <>
        <Choice label="How to show nodes" value={view} onChange={setView} options={[['map', 'Heat map'], ['table', 'Table']]} />
        {view === 'map' && <MetricChoice metrics={metrics} value={shownMetric} onChange={setMetric} />}
        {view === 'map' && <Choice label="Group by" value={by} onChange={setBy} options={[['type', 'by type'], ['group', 'by group'], ['zone', 'by zone']]} />}
        <Filter label="Filter nodes" placeholder="Filter nodes" value={text} onChange={setText} />
      </>
    }>
      {rows.length === 0
        ? <Empty title="No node yet">A node group with a target above 0 brings some, and so does a pending pod that fits a group: <code>kubectl --context {cluster.name} get nodegroups</code></Empty>
        : view === 'map'
          ? (
            <>
              <HeatMap label={`Nodes of ${cluster.name} by ${shownMetric}`} groups={groups} selected={selected} onSelect={select} />
              <HeatLegend metric={shownMetric} />
              {node && <NodeDetail cluster={cluster.name} node={node} />}
            </>
          )
          : <Table label={`Nodes of ${cluster.name}`} columns={columns} rows={shown} rowKey={row => row.name} sortedBy="name" param="order" empty={<Empty title="No node is like that" />} />}
    </Card>
  );
}

function NodeDetail({cluster, node}: {cluster: string; node: Node}) {
  return (
    <dl class="detail-list">
      <div><dt>Node</dt><dd class="strong"><ObjectLink kind="node" cluster={cluster} name={node.name}>{node.name}</ObjectLink> <StateBadge state={node.state} /></dd></div>
      <div><dt>Since</dt><dd><Ago time={node.since} /></dd></div>
      <div><dt>Group, zone</dt><dd>{node.group ?? 'none'}, {node.zone ?? 'none'}</dd></div>
      <div><dt>Pods</dt><dd>{node.pods}</dd></div>
      {Object.keys(node.load).sort().filter(metric => node.allocatable?.[metric]).map(metric => (
        <div key={metric}><dt>{metric}</dt><dd>{node.requested?.[metric] ?? '0'} of {node.allocatable![metric]} ({percent(node.load[metric])})</dd></div>
      ))}
      {node.unneededSince && <div><dt>Unneeded</dt><dd><Ago time={node.unneededSince} /></dd></div>}
      {node.waits && <div class="long"><dt>Scale-down</dt><dd>{node.waits}</dd></div>}
    </dl>
  );
}

/** Ours, which says of each group why it does not help. */
function why(row: Pending): string {
  return row.why || row.message || 'neither the scheduler nor the autoscaler has looked at it yet';
}

const pendingColumns = (cluster: string): Column<Pending>[] => [
  {key: 'name', title: 'Pod', compare: (a, b) => byName(a.name, b.name), grow: true, render: row => <><ObjectLink kind="pod" cluster={cluster} name={row.name}>{row.name}</ObjectLink><p class="narrow-only">{why(row)}</p></>},
  {key: 'since', title: 'Since', compare: (a, b) => byName(b.since ?? '', a.since ?? ''), render: row => <Ago time={row.since} />},
  {key: 'asks', title: 'Asks for', wide: true, render: row => [row.cpu && `${row.cpu} cpu`, row.memory].filter(Boolean).join(', ') || '–'},
  {key: 'why', title: 'Why', wide: true, grow: true, render: why},
];

function PendingPods({cluster, rows, groups}: {cluster: string; rows: Pending[]; groups: string[]}) {
  const columns = useMemo(() => pendingColumns(cluster), [cluster]);
  if (rows.length === 0) return <Empty title="No pod is pending">Every pod has a node. When one has none, the reason per node group is here.</Empty>;
  return (
    <Table label="Pending pods" columns={columns} rows={rows} rowKey={row => row.name} pageSize={20} sortedBy="name" detail={row => (
      <dl class="reasons">
        {row.message && <div><dt>Scheduler</dt><dd>{row.message}</dd></div>}
        {Object.entries(row.reasons ?? {}).sort(([a], [b]) => byName(a, b)).map(([group, reason]) => <div key={group}><dt>{group}</dt><dd>{reason}</dd></div>)}
        {Object.keys(row.reasons ?? {}).length === 0 && <div><dt>Node groups</dt><dd>{groups.length ? 'the autoscaler has not looked at it yet' : 'there is none that could grow'}</dd></div>}
      </dl>
    )} />
  );
}

function ScaleDown({cluster, rows, select}: {cluster: ClusterDocument; rows: Node[]; select: (name: string | null) => void}) {
  const state = cluster.scaleDown;
  const waiting = rows.filter(row => row.waits || row.unneededSince);
  if (!state) return <Empty title="Nothing is known of scale-down">The autoscaler of this cluster has not run a loop yet.</Empty>;
  return (
    <>
      <p class="said">{state.message || (state.enabled ? 'No node is unneeded' : 'Nodes are only added')}{state.cooldownUntil && <>; it goes on <Ago time={state.cooldownUntil} /></>}.</p>
      {(state.inProgress?.length ?? 0) > 0 && <p>Being removed: {state.inProgress!.map(name => <b key={name}>{name} </b>)}</p>}
      {waiting.length > 0 && (
        <ul class="waiting">
          {waiting.slice(0, 30).map(row => (
            <li key={row.name}>
              <button type="button" class="link" onClick={() => select(row.name)}>{row.name}</button>
              <span>{row.waits ?? 'is unneeded'}</span>
              {row.unneededSince && <span class="note">unneeded <Ago time={row.unneededSince} /></span>}
            </li>
          ))}
          {waiting.length > 30 && <li class="note">and {plural(waiting.length - 30, 'more node')}</li>}
        </ul>
      )}
    </>
  );
}
