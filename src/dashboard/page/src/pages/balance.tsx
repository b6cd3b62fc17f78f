import {useMemo, useState} from 'preact/hooks';
import {amount, byName, number} from '../format';
import {emptyBalance, type BalanceDocument, type BalanceMetric, type BalanceNode} from '../live/documents';
import {useView} from '../live/stream';
import {Ago, Badge, Card, Choice, Empty, MetricChoice, Since, Stat} from '../parts/basic';
import {HistoryChart} from '../parts/history';
import {useChoice} from '../parts/hooks';
import {PlanCard, phaseTone} from '../parts/plan';
import {Profile, type Bar} from '../parts/profile';
import {Awaited, ClusterPicker, ConnectionNote, ReadingNote} from '../parts/shell';
import {ObjectLink} from '../parts/object_link';
import {Table, type Column} from '../parts/table';

export function BalancePage({cluster, names}: {cluster: string; names: string[]}) {
  const live = useView(`balance/${cluster}`, emptyBalance);
  const {document} = live;
  return (
    <>
      <ConnectionNote live={live} />
      {document
        ? <Balance document={document.name ? document : {...document, name: cluster}} names={names} />
        : live.connection === 'refused' ? <ClusterPicker page="balance" cluster={cluster} names={names} /> : <Awaited connection={live.connection} />}
    </>
  );
}

/** The server says no more than this of a ratio, also of one to nothing. */
const ratioMax = 100;

type PlanRow = BalanceDocument['plans'][string] & {name: string; cluster: string};

const planColumns: Column<PlanRow>[] = [
  {key: 'created', title: 'Made', render: row => <Ago time={row.created} />},
  {key: 'name', title: 'Plan', grow: true, render: row => row.cluster ? <ObjectLink kind="plan" cluster={row.cluster} name={row.name}>{row.name}</ObjectLink> : row.name},
  {key: 'phase', title: 'Phase', render: row => <Badge tone={phaseTone(row.phase)}>{row.phase}</Badge>},
  {key: 'moves', title: 'Moves', numeric: true, render: row => `${row.done}/${row.movements}`},
  {key: 'message', title: 'Said', wide: true, grow: true, render: row => row.message ?? ''},
];

function Balance({document: balance, names}: {document: BalanceDocument; names: string[]}) {
  const [view, setView] = useChoice('loads', 'picture');
  const metrics = Object.keys(balance.metrics).sort(byName);
  const [stored, setMetric] = useChoice('balance-metric', 'cpu');
  const name = metrics.includes(stored) ? stored : metrics[0];
  const metric = name ? balance.metrics[name] : undefined;
  const plans = useMemo(() => Object.entries(balance.plans).map(([key, plan]): PlanRow => ({...plan, name: key, cluster: balance.name})).sort((a, b) => byName(b.created ?? '', a.created ?? '')), [balance.plans]);
  const policies = Object.entries(balance.policies).sort(([a], [b]) => byName(a, b));
  // Of a member that cannot be read it is not known that there is none.
  const unread = Boolean(balance.unread);
  return (
    <>
      {unread && <ReadingNote>{balance.name} cannot be read<Since time={balance.unknownSince} />: {balance.unread}. Whatever you see of it is from before.</ReadingNote>}
      <header class="page-head">
        <div>
          <ClusterPicker page="balance" cluster={balance.name} names={names} />
          <p class="sub">
            {policies.length === 0 ? (unread ? '' : 'no policy') : policies.map(([key, policy]) => (
              <span key={key}>policy <b>{key}</b>: {policy.mode}{policy.message && ` · ${policy.message}`} </span>
            ))}
          </p>
        </div>
        {metric && name && (
          <dl class="stats">
            <Stat label="Ratio" value={metric.ratio >= ratioMax ? `≥ ${ratioMax}` : number(metric.ratio)} note={`${number(metric.balancingThreshold)} is allowed`} tone={metric.imbalanced ? 'bad' : 'ok'} />
            <Stat label="Fullest" value={amount(name, metric.max)} note={name} />
            <Stat label="Emptiest" value={amount(name, metric.min)} note={name} />
            <Stat label="Deviation" value={number(metric.deviation, 3)} note="of load from its mean" />
          </dl>
        )}
      </header>
      {policies.length === 0 && !unread && (
        <Empty title="Nobody balances this cluster yet">
          <code>kubectl --context {balance.name} apply</code> a BalancingPolicy: in the mode DryRun it makes plans, and carries them out once you approve them here.
        </Empty>
      )}
      <div class="grid">
        <Card id="load" title="Load per node" wide note={metric?.imbalanced ? <Badge tone="bad">out of balance</Badge> : metric ? <Badge tone="ok">in balance</Badge> : undefined}
          actions={name && (
            <>
              <Choice label="How to show loads" value={view} onChange={setView} options={[['picture', 'Picture'], ['table', 'Table']]} />
              {metrics.length > 1 && <MetricChoice metrics={metrics} value={name} onChange={setMetric} />}
            </>
          )}>
          {name && metric ? <Loads balance={balance} name={name} metric={metric} view={view} /> : <Empty title="No load to compare">Loads are the requests of pods on nodes that a policy selects.</Empty>}
        </Card>
        <Card id="plan" title="Next plan" wide>
          <PlanCard cluster={balance.name} plan={unread && balance.plan ? {...balance.plan, approvable: false} : balance.plan} hasPolicy={policies.length > 0} />
        </Card>
        <Card id="ratio" title="Imbalance over time" note="fullest to emptiest node">
          <HistoryChart title="Imbalance ratio" history={balance.history} names={metrics} format={value => number(value)} atLeast={1.2}
            threshold={metric && name ? {name: `allowed for ${name}`, value: metric.balancingThreshold} : undefined} />
        </Card>
        <Card id="plans" title="Latest plans">
          <Table label="Latest plans" columns={planColumns} rows={plans} rowKey={row => row.name} pageSize={10} empty={<Empty title="No plan yet">The balancer makes one when a metric is out of balance.</Empty>} />
        </Card>
      </div>
    </>
  );
}

type LoadRow = {name: string; before: number; after: number | null; capacity: number | null; type: string};

function loadRows(nodes: Record<string, BalanceNode>, metric: string): LoadRow[] {
  return Object.entries(nodes)
    .map(([name, node]) => ({name, before: node.loads[metric] ?? 0, after: node.after?.[metric] ?? null, capacity: node.capacity?.[metric] ?? null, type: node.type ?? ''}))
    .sort((a, b) => b.before - a.before || byName(a.name, b.name));
}

/** Before and after, beside each other: the bars are what is, the marks what the plan makes of it. */
function Loads({balance, name, metric, view}: {balance: BalanceDocument; name: string; metric: BalanceMetric; view: string}) {
  const [selected, select] = useState<string | null>(null);
  const rows = useMemo(() => loadRows(balance.nodes, name), [balance.nodes, name]);
  const columns = useMemo((): Column<LoadRow>[] => [
    {key: 'name', title: 'Node', grow: true, compare: (a, b) => byName(a.name, b.name), render: row => <span class="strong">{row.name}</span>},
    {key: 'type', title: 'Type', wide: true, compare: (a, b) => byName(a.type, b.type), render: row => row.type},
    {key: 'before', title: 'Now', numeric: true, compare: (a, b) => a.before - b.before, render: row => amount(name, row.before)},
    {key: 'after', title: 'After the plan', numeric: true, compare: (a, b) => (a.after ?? 0) - (b.after ?? 0), render: row => amount(name, row.after)},
    {key: 'capacity', title: 'Capacity', numeric: true, wide: true, compare: (a, b) => (a.capacity ?? 0) - (b.capacity ?? 0), render: row => amount(name, row.capacity)},
  ], [name]);
  const bars = useMemo(() => rows.map((row): Bar => ({
    name: row.name, before: row.before, after: row.after,
    words: `${row.name}: ${amount(name, row.before)}${row.capacity ? ` of ${amount(name, row.capacity)}` : ''}${row.after !== null && row.after !== row.before ? `, ${amount(name, row.after)} after the plan` : ''}`,
  })), [rows, name]);
  // What the fullest node may have, given the emptiest; below the activity threshold nothing is looked at.
  const allowed = Math.max(metric.min * metric.balancingThreshold, metric.activityThreshold);
  const afterwards = rows.map(row => row.after ?? row.before);
  const allowedAfter = rows.some(row => row.after !== null) ? Math.max(Math.min(...afterwards) * metric.balancingThreshold, metric.activityThreshold) : null;
  return (
    <>
      {view === 'table'
        ? <Table label={`Load per node, ${name}`} columns={columns} rows={rows} rowKey={row => row.name} sortedBy="-before" pageSize={25} />
        : <Profile label={`${name} per node, fullest first`} bars={bars} format={value => amount(name, value)} allowed={allowed} allowedAfter={allowedAfter} selected={selected} onSelect={select} />}
    </>
  );
}
