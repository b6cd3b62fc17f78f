import {useMemo} from 'preact/hooks';
import {byName, digitsFor, fixed, number, plural} from '../format';
import type {BalancePlan} from '../live/documents';
import {ActButton, useMay} from './act';
import {Ago, Badge, Empty, type Tone} from './basic';
import {Icon} from './icon';
import {Table, type Column} from './table';

type Movement = BalancePlan['movements'][string] & {id: string};

export function phaseTone(phase: string): Tone {
  if (/^(done|landed)$/i.test(phase)) return 'ok';
  if (/^(failed|refused|elsewhere)$/i.test(phase)) return 'warn';
  if (/^(executing|evicting|evicted)$/i.test(phase)) return 'info';
  return 'quiet';
}

const columnsFor = (digits: number): Column<Movement>[] => [
  {key: 'pod', title: 'Pod', grow: true, compare: (a, b) => byName(a.pod, b.pod), render: row => <span class="strong">{row.pod}</span>},
  {key: 'from', title: 'From → to', compare: (a, b) => byName(a.from, b.from), render: row => <span class="nowrap">{row.from} <Icon name="arrow" /> {row.to}</span>},
  {key: 'gain', title: 'Energy gained', numeric: true, compare: (a, b) => (a.gain ?? 0) - (b.gain ?? 0), render: row => fixed(row.gain, digits)},
  {key: 'state', title: 'State', wide: true, compare: (a, b) => byName(a.state, b.state), render: row => <Badge tone={phaseTone(row.state)}>{row.state}</Badge>},
  {key: 'reason', title: 'Why', wide: true, grow: true, render: row => row.reason ?? ''},
];

export function PlanCard({cluster, plan, hasPolicy}: {cluster: string; plan: BalancePlan | null; hasPolicy: boolean}) {
  const may = useMay('approve');
  const rows = useMemo(() => (plan ? Object.entries(plan.movements).map(([id, movement]): Movement => ({...movement, id})).sort((a, b) => byName(a.id, b.id)) : []), [plan]);
  const digits = digitsFor(rows.map(row => row.gain));
  const columns = useMemo(() => columnsFor(digits), [digits]);
  if (!plan) return <Empty title="No plan at the moment">{hasPolicy ? 'A plan is made when a metric is out of balance.' : 'A BalancingPolicy in this cluster begins it.'}</Empty>;
  return (
    <>
      <div class="plan-head">
        <div>
          <h3>{plan.name} <Badge tone={phaseTone(plan.phase)}>{plan.phase}</Badge></h3>
          <p>{plan.message || (plan.approvable ? 'Waits for approval: nothing moves before.' : '')}</p>
          <p class="note">made <Ago time={plan.created} />{plan.policy && ` by policy ${plan.policy}`}{plan.reason && ` (${plan.reason})`}{plan.deviation && <>; deviation {number(plan.deviation.before, 3)} <Icon name="arrow" /> <b>{number(plan.deviation.after, 3)}</b></>}</p>
        </div>
        {plan.approvable && (
          <div class="actions">
            <ActButton act={{action: 'reject', cluster, name: plan.name}} right="approve" label="Reject" />
            <ActButton act={{action: 'approve', cluster, name: plan.name}} right="approve" label={`Approve ${plural(rows.length, 'move')}`} primary />
          </div>
        )}
        {plan.approvable && !may && <span class="note">You may look and not approve; who may can do it here, or with <code>kubectl --context {cluster} patch balancingplan {plan.name} --type merge --patch '{'{"spec": {"approved": true}}'}'</code>.</span>}
      </div>
      <Table label={`Moves of ${plan.name}`} columns={columns} rows={rows} rowKey={row => row.id} pageSize={20} detail={row => (
        <dl class="reasons">
          <div><dt>Why</dt><dd>{row.reason || 'no reason was given'}</dd></div>
          <div><dt>State</dt><dd>{row.state}{row.message && `: ${row.message}`}</dd></div>
          {row.node && <div><dt>Now on</dt><dd>{row.node}</dd></div>}
        </dl>
      )} />
    </>
  );
}
