import {Fragment, type ComponentChildren} from 'preact';
import {memo} from 'preact/compat';
import {useMemo} from 'preact/hooks';
import {giveColors, loadColor, nameColor} from '../color';
import {byName, clockTime, duration, nodesNote, number, percent, plural} from '../format';
import {emptyFleet, type FleetCluster, type FleetDocument, type Handover} from '../live/documents';
import {useView} from '../live/stream';
import {Ago, Badge, Card, Choice, Empty, Meter, Since, Stat, StateBadge} from '../parts/basic';
import {useChoice, useTheme} from '../parts/hooks';
import {Icon} from '../parts/icon';
import {Awaited, ConnectionNote, Filter} from '../parts/shell';
import {Table, type Column} from '../parts/table';
import {Timeline} from '../parts/timeline';
import {href, useParam} from '../route';

type Member = FleetCluster & {name: string};

/** The largest of the loads that every fleet has. */
export function topLoad(cluster: FleetCluster): number {
  return Math.max(cluster.load.cpu ?? 0, cluster.load.memory ?? 0);
}

const unread: Omit<FleetCluster, 'owner'> = {health: 'Unknown', nodes: {ready: 0, total: 0, upcoming: 0, notReady: 0}, pods: {running: 0, pending: 0, total: 0}, load: {}};

// One object per cluster for as long as the cluster's part of the document stays the same, so that unchanged rows are not drawn again.
const members = new WeakMap<FleetCluster, Member>();
function member(name: string, cluster: FleetCluster): Member {
  let made = members.get(cluster);
  // Of a member that cannot be read, little is known.
  if (!made) members.set(cluster, (made = {...unread, ...cluster, name}));
  return made;
}

const severity: Record<string, number> = {Unowned: 0, Unreachable: 1, Degraded: 2, Unknown: 3, Healthy: 4};

/** What is told of a member that cannot be reached is from before, and counts nowhere. */
function known(row: Member, content: ComponentChildren): ComponentChildren {
  return row.unknownSince ? <span class="quiet">–</span> : content;
}

const columns: Column<Member>[] = [
  {key: 'name', title: 'Cluster', compare: (a, b) => byName(a.name, b.name), grow: true,
    render: row => <a href={href('cluster', row.name)} class="strong">{row.name}</a>},
  {key: 'health', title: 'Health', compare: (a, b) => (severity[a.health] ?? 3) - (severity[b.health] ?? 3),
    render: row => <span class="health"><StateBadge state={row.health} title={row.message} />{row.unknownSince && <span class="note">unknown<Since time={row.unknownSince} /></span>}{row.hot && <Badge tone="bad" icon="flame">Hot</Badge>}</span>},
  {key: 'owner', title: 'Owner', compare: (a, b) => byName(a.owner ?? '', b.owner ?? ''), wide: true,
    render: row => row.owner ? <>{row.owner}{row.wanted && row.wanted !== row.owner && <span class="note"> → {row.wanted}</span>}</> : <span class="bad-text">nobody</span>},
  {key: 'nodes', title: 'Nodes', numeric: true, compare: (a, b) => a.nodes.total - b.nodes.total,
    render: row => known(row, <NodeCount nodes={row.nodes} />)},
  {key: 'pods', title: 'Pods', numeric: true, wide: true, compare: (a, b) => a.pods.total - b.pods.total, render: row => known(row, row.pods.running.toLocaleString('en-US'))},
  {key: 'pending', title: 'Pending', numeric: true, wide: true, compare: (a, b) => a.pods.pending - b.pods.pending,
    render: row => known(row, row.pods.pending > 0 ? <b class="warn-text">{row.pods.pending}</b> : <span class="quiet">0</span>)},
  {key: 'cpu', title: 'CPU', compare: (a, b) => (a.load.cpu ?? 0) - (b.load.cpu ?? 0), render: row => known(row, <Meter share={row.load.cpu} label="cpu" threshold={0.85} />)},
  {key: 'memory', title: 'Memory', wide: true, compare: (a, b) => (a.load.memory ?? 0) - (b.load.memory ?? 0),
    render: row => known(row, <Meter share={row.load.memory} label="memory" threshold={0.85} />)},
  {key: 'weight', title: 'Weight', numeric: true, wide: true, compare: (a, b) => (a.weight ?? 0) - (b.weight ?? 0), render: row => number(row.weight)},
];

/** "23/25 +1": of 25 that have been there for long enough, 23 are not without their kubelet; one more is on its way. */
function NodeCount({nodes}: {nodes: FleetCluster['nodes']}) {
  const made = nodes.total - nodes.upcoming;
  return <>{nodes.notReady > 0 ? `${made - nodes.notReady}/${made}` : made}{nodes.upcoming > 0 && <span class="note"> +{nodes.upcoming}</span>}</>;
}

/** What a narrow screen has no column for, and why the cluster is as it is. */
function clusterDetail(row: Member) {
  return (
    <dl class="detail-list">
      {row.message && <div class="long"><dt>{row.health}</dt><dd>{row.message}</dd></div>}
      <div><dt>Owner</dt><dd>{row.owner ?? 'nobody'}{row.wanted && row.wanted !== row.owner && `, to be ${row.wanted}`}</dd></div>
      <div><dt>Shard, weight</dt><dd>{row.shard ?? '–'}, {number(row.weight)}</dd></div>
      <div><dt>Nodes</dt><dd>{plural(row.nodes.total, 'node')}, {row.nodes.notReady} not ready, {row.nodes.upcoming} upcoming</dd></div>
      <div><dt>Pods</dt><dd>{row.pods.running.toLocaleString('en-US')} running, {row.pods.pending.toLocaleString('en-US')} pending</dd></div>
      {Object.keys(row.load).sort().map(metric => <div key={metric}><dt>{metric}</dt><dd>{percent(row.load[metric])}</dd></div>)}
    </dl>
  );
}

export function FleetPage() {
  const live = useView('fleet', emptyFleet);
  return (
    <>
      <ConnectionNote live={live} />
      {live.document ? <Fleet fleet={live.document} /> : <Awaited connection={live.connection} />}
    </>
  );
}

function Fleet({fleet}: {fleet: FleetDocument}) {
  const rows = useMemo(() => Object.entries(fleet.clusters).map(([name, cluster]) => member(name, cluster)).sort((a, b) => byName(a.name, b.name)), [fleet.clusters]);
  const replicas = useMemo(() => {
    const names = Object.keys(fleet.replicas).sort(byName);
    giveColors(names);
    return names;
  }, [fleet.replicas]);
  const [text, setText] = useParam('text');
  const [only, setOnly] = useParam('only', 'all');
  const [handoverView, setHandoverView] = useChoice('handovers', 'timeline');
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return rows.filter(row => (!wanted || `${row.name} ${row.owner ?? ''} ${row.health}`.toLowerCase().includes(wanted))
      && (only === 'all' || (only === 'attention' ? row.health !== 'Healthy' || row.hot || row.pods.pending > 0 : row.hot)));
  }, [rows, text, only]);
  if (rows.length === 0) {
    return (
      <>
        <h1>{fleet.hub.name}</h1>
        <Empty title="No member cluster yet">
          Register one on the hub: a Secret with the label <code>argocd.argoproj.io/secret-type=cluster</code>, or a Karmada Cluster. It appears here by itself.
        </Empty>
      </>
    );
  }
  return (
    <>
      <Head fleet={fleet} rows={rows} />
      <div class="grid">
        <Card id="map" title="Members" note="a tile each, below the replica that owns them" wide>
          <TileMap rows={shown} replicas={replicas} fleet={fleet} />
          <TileLegend />
        </Card>
        <Card id="handovers" title="Hand-overs" note="the mark's size says for how long nobody owned the cluster" wide
          actions={<Choice label="How to show hand-overs" value={handoverView} onChange={setHandoverView} options={[['timeline', 'Timeline'], ['table', 'Table']]} />}>
          <Handovers handovers={fleet.handovers} replicas={replicas} view={handoverView} />
        </Card>
        <Card id="clusters" title="Clusters" wide actions={
          <>
            <Choice label="Which clusters" value={only} onChange={setOnly} options={[['all', 'All'], ['attention', 'Need attention'], ['hot', 'Hot']]} />
            <Filter label="Filter clusters" placeholder="Filter by name, owner, health" value={text} onChange={setText} />
          </>
        }>
          <Table label="Clusters" columns={columns} rows={shown} rowKey={row => row.name} sortedBy="name" param="order" detail={clusterDetail}
            empty={<Empty title="No cluster is like that">{text ? `Nothing matches “${text}”.` : 'All is well.'}</Empty>} />
        </Card>
      </div>
    </>
  );
}

function Head({fleet, rows}: {fleet: FleetDocument; rows: Member[]}) {
  const sum = (of: (row: Member) => number) => rows.reduce((total, row) => total + (row.unknownSince ? 0 : of(row)), 0);
  const unknown = rows.filter(row => row.unknownSince).length;
  const ill = rows.filter(row => row.health !== 'Healthy');
  const hot = rows.filter(row => row.hot);
  const pending = sum(row => row.pods.pending);
  const [notReady, total, upcoming] = [sum(row => row.nodes.notReady), sum(row => row.nodes.total), sum(row => row.nodes.upcoming)];
  return (
    <header class="page-head">
      <div>
        <h1>{fleet.hub.name}</h1>
        <p class="sub">
          {fleet.hub.reachable ? 'hub reachable' : <span class="bad-text">hub unreachable: {fleet.hub.message}</span>}
          {fleet.plan && <> · plan epoch <b>{fleet.plan.epoch}</b>, {fleet.plan.method}{fleet.plan.leader ? `, made by ${fleet.plan.leader}` : ''}{fleet.plan.time && <> <Ago time={fleet.plan.time} /></>}</>}
        </p>
      </div>
      <dl class="stats">
        <Replicas replicas={fleet.replicas} />
        <Stat label="Clusters" value={rows.length} note={ill.length ? `${ill.length} not healthy${unknown ? `, ${unknown} of them unknown` : ''}` : 'all healthy'} tone={ill.length ? 'bad' : 'ok'} />
        <Stat label="Nodes" value={total.toLocaleString('en-US')} note={nodesNote(notReady, upcoming)} tone={notReady ? 'warn' : 'ok'} />
        <Stat label="Pods" value={sum(row => row.pods.running).toLocaleString('en-US')} note={pending ? `${pending} pending` : 'none pending'} tone={pending ? 'warn' : 'ok'} />
        <Stat label="Hot" value={hot.length} note={hot.length ? hot.slice(0, 2).map(row => <Fragment key={row.name}><span class="nowrap">{row.name}</span> </Fragment>) : 'no hot cluster'} tone={hot.length ? 'bad' : 'ok'} />
      </dl>
    </header>
  );
}

/** How many there are of how many there should be, and who is missing. */
function Replicas({replicas}: {replicas: FleetDocument['replicas']}) {
  const all = Object.keys(replicas).sort(byName);
  const gone = all.filter(name => !replicas[name]!.alive);
  if (all.length === 0) return <Stat label="Replicas" value="–" note="none has said anything" tone="quiet" />;
  return (
    <Stat label="Replicas" value={gone.length ? `${all.length - gone.length} of ${all.length}` : all.length} tone={gone.length ? 'bad' : 'ok'}
      note={gone.length ? <>{gone.slice(0, 2).map(name => <span key={name}>{name} is gone<Since time={replicas[name]!.goneSince} /> </span>)}{gone.length > 2 && `and ${gone.length - 2} more`}</> : 'all heard of'} />
  );
}

/** Up to so many members have their names on the map. */
const largeTiles = 36;

/** Every member as a tile under its owner. */
function TileMap({rows, replicas, fleet}: {rows: Member[]; replicas: string[]; fleet: FleetDocument}) {
  const theme = useTheme();
  const byOwner = useMemo(() => {
    const out = new Map<string, Member[]>();
    for (const row of rows) {
      const owner = row.owner ?? '';
      out.set(owner, [...(out.get(owner) ?? []), row]);
    }
    return out;
  }, [rows]);
  const heaviest = Math.max(1, ...Object.values(fleet.replicas).map(replica => replica.weight ?? 0));
  const gone = [...byOwner.keys()].filter(owner => owner && !fleet.replicas[owner]).sort(byName);
  return (
    <div class="owners">
      {(byOwner.has('') ? [''] : []).concat(replicas, gone).map(owner => {
        const replica = fleet.replicas[owner];
        const here = byOwner.get(owner) ?? [];
        return (
          <section key={owner} class={owner ? 'owner' : 'owner nobody'} aria-label={owner || 'Without an owner'}>
            <h3>
              {owner ? <span class="swatch" style={{background: nameColor(theme, owner)}} /> : <Icon name="warning" />}
              {owner || 'Nobody'}
              {replica && !replica.alive && <Badge tone="bad">gone</Badge>}{replica?.leaving && <Badge tone="info">leaves</Badge>}
            </h3>
            <p class="note">{replica && !replica.alive && <b class="bad-text">not heard of<Since time={replica.goneSince} />. </b>}{plural(here.length, 'cluster')}{replica?.shard !== undefined && `, shard ${replica.shard}`}{replica?.weight !== undefined && `, weight ${number(replica.weight)}`}</p>
            {replica?.weight !== undefined && <span class="weight-bar" aria-hidden="true"><span style={{width: `${(replica.weight / heaviest) * 100}%`}} /></span>}
            <ul class="tiles">{here.map(row => <Tile key={row.name} row={row} dark={theme === 'dark'} large={rows.length <= largeTiles} />)}</ul>
          </section>
        );
      })}
    </div>
  );
}

function TileLegend() {
  return (
    <p class="heat-legend tile-legend">
      <span class="scale">load 0 %<span class="scale-bar" aria-hidden="true" />100 %</span>
      <span>the larger of cpu and memory</span>
      <span class="key key-over">over 100 %</span>
      <span class="mark"><span class="tile-mark"><Icon name="flame" /></span>hot: alone too heavy for an even share</span>
      <span class="mark warn"><span class="tile-mark"><Icon name="warning" /></span>degraded</span>
      <span class="mark"><span class="tile-mark"><Icon name="cross" /></span>nobody owns it</span>
      <span class="mark quiet"><span class="tile-mark"><Icon name="dash" /></span>unknown: it cannot be reached</span>
      <span class="mark"><span class="tile-dot" />pods are pending</span>
    </p>
  );
}

const Tile = memo(function Tile({row, dark, large}: {row: Member; dark: boolean; large: boolean}) {
  const unknown = Boolean(row.unknownSince) || row.health === 'Unknown';
  const load = unknown ? 0 : topLoad(row);
  const words = `${row.name}: ${row.health}${unknown ? '' : `${row.hot ? ', hot' : ''}, ${plural(row.nodes.total, 'node')}, load ${Math.round(load * 100)} %${row.pods.pending ? `, ${row.pods.pending} pending` : ''}`}${row.message ? `. ${row.message}` : ''}`;
  const mark = unknown ? 'dash' : row.health === 'Unowned' ? 'cross' : row.health === 'Degraded' ? 'warning' : row.hot ? 'flame' : null;
  return (
    <li class={large ? 'large' : undefined}>
      <a class={`tile ${unknown ? 'Unknown' : row.health} ${row.hot && !unknown ? 'hot' : ''}`} href={href('cluster', row.name)} title={words} aria-label={words}
        {...(unknown ? {} : {style: {background: loadColor(dark ? 'dark' : 'light', load)}})}>
        {mark && <span class="tile-mark"><Icon name={mark} /></span>}
        {row.pods.pending > 0 && !mark && <span class="tile-dot" />}
      </a>
      {large && (
        <span class="tile-words" aria-hidden="true">
          <b>{row.name}</b>
          <span class="note">{unknown ? <>unknown<Since time={row.unknownSince} /></> : `${plural(row.nodes.total, 'node')}, ${Math.round(load * 100)} %`}</span>
        </span>
      )}
    </li>
  );
});

const handoverColumns: Column<Handover & {id: string}>[] = [
  {key: 'time', title: 'Time', render: row => clockTime(row.time)},
  {key: 'cluster', title: 'Cluster', render: row => <a href={href('cluster', row.cluster)}>{row.cluster}</a>},
  {key: 'from', title: 'From → to', render: row => <span class="nowrap">{row.from ?? 'nobody'} <Icon name="arrow" /> {row.to ?? 'nobody'}</span>},
  {key: 'seconds', title: 'Took', numeric: true, render: row => (row.seconds === undefined || row.seconds === null ? '–' : duration(row.seconds))},
  {key: 'reason', title: 'Why', grow: true, wide: true, render: row => row.reason ?? ''},
];

function handoverDetail(row: Handover) {
  return (
    <dl class="reasons">
      <div><dt>Why</dt><dd>{row.reason || 'nobody said'}</dd></div>
      <div><dt>When</dt><dd>{clockTime(row.time)}, <Ago time={row.time} /></dd></div>
    </dl>
  );
}

function Handovers({handovers, replicas, view}: {handovers: Record<string, Handover>; replicas: string[]; view: string}) {
  const rows = useMemo(() => Object.keys(handovers).sort().reverse().map(id => ({...handovers[id]!, id})), [handovers]);
  if (rows.length === 0) return <Empty title="No hand-over yet">A cluster changes hands when a replica joins, leaves or dies, or when the load on replicas becomes uneven.</Empty>;
  return view === 'timeline'
    ? <Timeline handovers={rows} replicas={replicas} />
    : <Table label="Hand-overs" columns={handoverColumns} rows={rows} rowKey={row => row.id} pageSize={10} detail={handoverDetail} />;
}
