// The made-up fleet of played_feed.mjs: documents of every view, and merge patches that change a little of them each time. The same
// numbers on every run.

const owners = ['evenkeel-0', 'evenkeel-1', 'evenkeel-2'];
const types = [['general', '4', '16Gi', 0.192], ['compute', '16', '32Gi', 0.68], ['memory', '8', '64Gi', 0.504]];
/** Of one member: more than there is room for beside each other. */
const devices = ['example.com/disk', 'example.com/fpga', 'example.com/gpu', 'example.com/nic'];
const zones = ['eu-1a', 'eu-1b', 'eu-1c'];

/** xorshift32: numbers in [0, 1). */
function numbers(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
const round = value => Math.round(value * 1e4) / 1e4;
const bounded = value => round(Math.min(1.12, Math.max(0.02, value)));
const pick = (random, list) => list[Math.floor(random() * list.length)];
const ago = seconds => new Date(Date.now() - seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
const id = number => String(number).padStart(8, '0');

/** What each view has where the fleet has nothing, where all is well, and where much is not. */
const moods = {
  empty: {
    fleet: fleet => ({...fleet, replicas: {}, clusters: {}, handovers: {}}),
    names: names => names,
    cluster: cluster => ({...cluster, nodes: {}, groups: {}, pending: {}, history: [], scaleDown: null}),
    balance: balance => ({...balance, policies: {}, metrics: {}, nodes: {}, plan: null, plans: {}, history: []}),
    rollouts: () => ({ensembles: {}}),
    events: () => ({events: {}, silent: {}}),
  },
  healthy: {
    fleet: fleet => ({...fleet,
      replicas: Object.fromEntries(Object.entries(fleet.replicas).filter(([, replica]) => replica.alive)),
      clusters: Object.fromEntries(Object.entries(fleet.clusters).map(([name, {unknownSince: _, ...cluster}], index) => [name, {...cluster, owner: owners[index % 3], health: 'Healthy', message: '', hot: false,
        nodes: {ready: cluster.nodes.total, total: cluster.nodes.total, upcoming: 0, notReady: 0}, pods: {...cluster.pods, pending: 0}, load: {cpu: 0.5, memory: 0.4, pods: 0.3}}]))}),
    cluster: cluster => ({...cluster, pending: {}, nodes: Object.fromEntries(Object.entries(cluster.nodes).map(([name, node]) => [name, {...node, state: 'Ready', waits: null, unneededSince: null}])),
      groups: Object.fromEntries(Object.entries(cluster.groups).map(([name, group]) => [name, {...group, target: group.ready, upcoming: 0, backoffUntil: null, backoffReason: null}])),
      scaleDown: {...cluster.scaleDown, message: 'No node is unneeded', inProgress: [], candidates: 0}}),
    balance: balance => ({...balance, plan: null, metrics: Object.fromEntries(Object.entries(balance.metrics).map(([name, metric]) => [name, {...metric, ratio: 1.05, imbalanced: false}]))}),
    rollouts: rollouts => ({ensembles: Object.fromEntries(Object.entries(rollouts.ensembles).map(([name, ensemble]) => [name, {...ensemble, phase: 'Ready', message: 'all servers run revision 5', servers: {total: 5, ready: 5, healthy: 5},
      quorum: {needed: 3, healthy: 5, margin: 2}, records: {}, clusters: Object.fromEntries(Object.entries(ensemble.clusters).map(([cluster, state]) => [cluster, {...state, state: 'Done', ready: state.replicas, message: ''}]))}]))}),
    events: ({events}) => ({silent: {}, events: Object.fromEntries(Object.entries(events).filter(([, event]) => event.type === 'Normal'))}),
  },
  broken: {
    fleet: fleet => ({...fleet, hub: {...fleet.hub, reachable: false, message: 'leases: connection refused'},
      replicas: Object.fromEntries(Object.entries(fleet.replicas).map(([name, replica], index) => [name, index ? {...replica, alive: false, goneSince: ago(200), clusters: 0} : replica])),
      clusters: Object.fromEntries(Object.entries(fleet.clusters).map(([name, cluster], index) => [name, index % 3 ? {...cluster, health: index % 3 === 1 ? 'Unreachable' : 'Unowned', owner: null, message: 'no answer: connection refused',
        ...(index % 3 === 1 ? {unknownSince: ago(300)} : {})} : cluster]))}),
    cluster: cluster => ({...cluster, health: 'Unreachable', owner: null, unread: 'nodes: connection refused', unknownSince: ago(300), message: 'unknown'}),
    balance: balance => ({...balance, unread: 'balancingpolicies: connection refused', unknownSince: ago(300), message: 'connection refused'}),
    rollouts: rollouts => ({unread: 'multiclusterzookeepers: connection refused', ensembles: Object.fromEntries(Object.entries(rollouts.ensembles).map(([name, ensemble]) => [name, {...ensemble, phase: 'Failed', leader: null,
      message: 'no quorum', servers: {total: 5, ready: 2, healthy: 2}, quorum: {needed: 3, healthy: 2, margin: -1}}]))}),
    events: ({events}) => ({events, silent: {'member-2': 'events: connection refused', 'member-3': 'events: forbidden'}}),
  },
};

function inMood(mood, view, document) {
  const change = moods[mood]?.[view.split('/')[0]];
  return change ? change(document) : document;
}

export class PlayedFleet {
  constructor(members, nodes) {
    this.random = numbers(7);
    this.nodesPerMember = Math.max(1, Math.round(nodes / members));
    this.names = Array.from({length: members}, (_, index) => `member-${index + 1}`);
    this.sequence = 0;
    this.made = new Map();
  }

  /** As the program answers for a member that is not there. */
  refusal(view) {
    const [kind, name] = view.split('/');
    return (kind === 'cluster' || kind === 'balance') && !this.names.includes(name) ? {status: 404, message: `there is no member ${name}`} : null;
  }

  /** As /api/find answers. */
  find(query) {
    const words = (query.get('text') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const limit = Number(query.get('limit') ?? 50);
    const [cluster, kind, state] = ['cluster', 'kind', 'state'].map(name => query.get(name) ?? '');
    const found = [];
    let total = 0;
    const missing = this.mood === 'broken' ? [cluster || 'member-3'] : cluster ? [] : ['member-30'];
    for (const name of this.mood === 'empty' ? [] : cluster ? [cluster] : this.names) {
      if (missing.includes(name)) continue;
      const things = [
        ...Array.from({length: this.nodesPerMember}, (_, index) => ({kind: 'Node', name: `${name}-n${index + 1}`, state: 'Ready', group: 'general', since: ago(9000)})),
        ...Array.from({length: 40}, (_, index) => ({kind: 'Pod', name: `shop/cart-${index}`, node: index % 13 === 7 ? null : `${name}-n${1 + index % this.nodesPerMember}`, state: index % 13 === 7 ? 'Pending' : index % 17 === 3 ? 'Failed' : 'Running',
          ready: index % 13 === 7 || index % 17 === 3 ? 0 : 1, containers: 1, restarts: index % 5, since: ago(600 + index)})),
      ];
      for (const thing of things) {
        if ((kind && thing.kind !== kind) || (state && thing.state !== state) || !words.every(word => `${thing.name} ${thing.node ?? ''}`.toLowerCase().includes(word))) continue;
        total++;
        if (found.length < limit) found.push({...thing, cluster: name});
      }
    }
    return {found, total, missing};
  }

  /** As /api/history answers; nothing is kept unless a test says so. */
  kept(query) {
    if (!this.keeps) return {kept: false};
    const seconds = (Date.now() - new Date(query.get('from')).getTime()) / 1000;
    const points = query.get('cluster') ? this.history(500, Math.min(seconds, 172_800) / 500, index => ({nodes: 20 + Math.round(3 * Math.sin(index / 40)), pending: index % 90 === 7 ? 5 : 0, cpu: bounded(0.5 + 0.2 * Math.sin(index / 60)), memory: 0.4})) : [];
    const events = Object.fromEntries(Array.from({length: 300}, (_, index) => [`0-${id(300 - index)}`, {...this.event(7200 + index * 500), reason: index === 7 ? 'LongAgo' : 'ScaleDown'}]));
    return {kept: true, events, points, since: ago(172_800)};
  }

  object(query) {
    const [kind, namespace, name] = ['kind', 'namespace', 'name'].map(key => query.get(key));
    return {kind, namespace: namespace || null, name, uid: 'u1', unschedulable: false, containers: kind === 'Pod' ? ['main', 'proxy'] : [],
      yaml: `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n  nodeName: member-3-n1\n`,
      events: [{time: ago(30), type: 'Warning', reason: 'BackOff', message: 'back-off 40s restarting failed container', by: 'kubelet', count: 4}, {time: ago(300), type: 'Normal', reason: 'Scheduled', message: 'assigned to member-3-n1', by: 'scheduler', count: 1}], eventsUnread: null};
  }

  logs(query) {
    return {container: query.get('container'), text: Array.from({length: 40}, (_, index) => `${query.get('container')} line ${index}: GET /cart 200 in ${index} ms`).join('\n')};
  }

  sessions() {
    return [{handle: '00aa', user: 'evenkeel:dashboard-token', from: '127.0.0.1:40112', opened: ago(900), used: ago(1), own: true},
      {handle: '00bb', user: 'bob@example.org', from: '10.1.2.3:51000', opened: ago(90_000), used: ago(40), own: false}];
  }

  preview(asked) {
    if (asked.action === 'approve') {
      const moves = Object.values(this.document(`balance/${asked.cluster}`).plan.movements);
      return {title: `Carry out plan ${asked.name} of ${asked.cluster}?`, seen: '5d41402abc4b2a76', warnings: [],
        effects: [`${moves.length} pods are evicted, one after another, and made again elsewhere:`, ...moves.map(move => `${move.pod}: from ${move.from} to ${move.to}`)]};
    }
    if (asked.action === 'drain') {
      return {title: `Drain node ${asked.name} of ${asked.cluster}?`, seen: 'd0', warnings: ['1 pod stays on the node: the autoscaler would not move it either.'],
        effects: ['No new pod is placed on it.', '2 pods are evicted, as far as their budgets allow:', 'shop/cart-1: to member-3-n4', 'shop/cart-2: no other node has room for it now: it will wait for one', 'shop/once: stays: NotReplicated']};
    }
    return {title: `${asked.action} ${asked.name}?`, effects: ['That is what happens.'], warnings: [], seen: 's1'};
  }

  forget(replica) {
    this.made.delete('fleet');
    this.forgotten = replica;
  }

  be(mood) {
    this.mood = mood;
    this.made.clear();
  }

  document(view) {
    if (!this.made.has(view)) this.made.set(view, inMood(this.mood, view, this.make(view)));
    return this.made.get(view);
  }

  make(view) {
    const [kind, name] = view.split('/');
    if (kind === 'names') return {hub: {name: 'played', reachable: true, message: ''}, clusters: Object.fromEntries(this.names.map(each => [each, {}]))};
    if (kind === 'cluster') return this.cluster(name);
    if (kind === 'balance') return this.balance(name);
    if (kind === 'rollouts') return {ensembles: {'zk/orders': this.ensemble(), 'zk/search': this.unreadEnsemble()}};
    if (kind === 'events') return {events: Object.fromEntries(Array.from({length: 2000}, (_, index) => [id(index), this.event(2000 - index)])), silent: {}};
    return this.fleet();
  }

  member(index) {
    const {random} = this;
    const odd = index % 41;
    const health = odd === 17 ? 'Degraded' : odd === 29 ? 'Unreachable' : odd === 37 ? 'Unowned' : 'Healthy';
    const total = this.nodesPerMember;
    const load = bounded(0.25 + random() * 0.5);
    const hot = index % 67 === 5;
    const owner = health === 'Unowned' ? null : owners[index % 3];
    const [upcoming, notReady] = [index % 23 === 0 ? 1 : 0, health === 'Degraded' ? 2 : 0];
    return {
      owner, shard: index % 3, wanted: owners[index % 3], epoch: 12, health,
      ...(health === 'Unreachable' ? {unknownSince: ago(42)} : {}),
      message: health === 'Unreachable' ? 'no answer for 42 s: connection refused' : health === 'Degraded' ? '2 of 25 nodes are not ready' : '',
      nodes: {ready: total - notReady - upcoming, total, upcoming, notReady},
      pods: {running: total * 20, pending: index % 29 === 3 ? 4 : 0, total: total * 20 + (index % 29 === 3 ? 4 : 0)},
      load: {cpu: hot ? 0.97 : load, memory: bounded(load * 0.8), pods: bounded(load * 0.5)}, weight: 20 + Math.round(random() * 60), hot, groups: 3,
    };
  }

  fleet() {
    const clusters = Object.fromEntries(this.names.map((name, index) => [name, this.member(index)]));
    const handovers = {};
    for (let index = 0; index < 60; index++) {
      const from = index % 9 === 0 ? null : owners[index % 3];
      handovers[id(index)] = {time: ago((60 - index) * 47), cluster: pick(this.random, this.names), from, to: owners[(index + 1) % 3],
                              reason: from ? 'evenkeel-1 left, its clusters were shared out' : 'nobody owned it', seconds: round(0.4 + this.random() * 8)};
    }
    const replicas = Object.fromEntries(owners.map((owner, shard) => [owner, {shard, alive: true, since: ago(86_000 - shard * 1000),
      clusters: this.names.filter((_, index) => index % 3 === shard).length, weight: 2650 + shard * 90}]));
    // One that has died, and in whose place nobody has come.
    replicas['evenkeel-3'] = {alive: false, since: ago(90_000), goneSince: ago(130), clusters: 0};
    if (this.forgotten) {
      delete replicas[this.forgotten];
      for (const cluster of Object.values(clusters)) if (cluster.owner === this.forgotten) cluster.owner = owners[1];
    }
    return {hub: {name: 'played', reachable: true, message: ''}, plan: {epoch: 12, method: 'weighted', leader: 'evenkeel-0', time: ago(300)}, replicas, clusters, handovers};
  }

  node(index) {
    const {random} = this;
    const type = types[index % 7 === 0 ? 1 : index % 5 === 0 ? 2 : 0];
    const state = index % 53 === 9 ? 'NotReady' : index % 47 === 11 ? 'Cordoned' : index % 61 === 13 ? 'Deleting' : index % 59 === 15 ? 'Upcoming' : 'Ready';
    const cpu = state === 'Upcoming' ? 0 : bounded(0.15 + random() * 0.85);
    const unneeded = cpu < 0.3 && state === 'Ready';
    return {
      group: type[0], type: type[0], zone: zones[index % 3], state, since: ago(9000 - index * 3), load: {cpu, memory: bounded(cpu * (0.6 + random() * 0.5)), pods: round(cpu * 0.3)},
      requested: {cpu: `${Math.round(cpu * 1000 * Number(type[1]))}m`, memory: '6Gi'}, allocatable: {cpu: type[1], memory: type[2]}, pods: Math.round(cpu * 30),
      unneededSince: unneeded ? ago(200 + index) : null, waits: unneeded ? 'unneeded for 3m20s of 10m' : null,
    };
  }

  history(count, seconds, point) {
    return Array.from({length: count}, (_, index) => [ago((count - index) * seconds), point(index)]);
  }

  cluster(name) {
    const nodes = Object.fromEntries(Array.from({length: this.nodesPerMember}, (_, index) => [`${name}-n${index + 1}`, this.node(index)]));
    const groups = Object.fromEntries(types.map(([type, , , price], index) => [type, {target: 8 + index, min: index, max: 20 + index * 10, ready: 8, upcoming: index ? index : 0, scalable: true,
      backoffUntil: index === 1 ? new Date(Date.now() + 200_000).toISOString() : null, backoffReason: index === 1 ? 'QUOTA: 64 of 64 vCPU are in use' : null, pricePerHour: price}]));
    const pending = Object.fromEntries(Array.from({length: 6}, (_, index) => [`shop/checkout-7d9f-${index}`, {since: ago(40 + index * 13), cpu: '6', memory: '12Gi',
      reasons: {general: 'Insufficient cpu: 6 are asked for, a new node has 4', compute: 'backed off until the quota is free again', memory: "node(s) didn't match Pod's node affinity/selector"},
      why: "compute: backed off until the quota is free again; general: Insufficient cpu: 6 are asked for, a new node has 4; memory: node(s) didn't match Pod's node affinity/selector",
      message: '0/25 nodes are available: 20 Insufficient cpu, 5 node(s) had untolerated taint.'}]));
    return {name, owner: 'evenkeel-1', health: 'Healthy', message: '', server: 'https://127.0.0.1:16443', metrics: ['cpu', 'memory', 'pods', ...(name === 'member-5' ? devices : [])], nodes, groups, pending,
      scaleDown: {enabled: true, message: '3 nodes are unneeded, the first is removed in 6m40s', cooldownUntil: null, candidates: 3, inProgress: [`${name}-n14`]},
      history: this.history(360, 5, index => ({nodes: this.nodesPerMember - 4 + Math.floor(index / 90), pending: Math.max(0, Math.round(6 * Math.sin(index / 30))),
        cpu: bounded(0.5 + 0.2 * Math.sin(index / 40)), memory: bounded(0.4 + 0.1 * Math.cos(index / 50))}))};
  }

  balance(name) {
    const {random} = this;
    const nodes = Object.fromEntries(Array.from({length: this.nodesPerMember}, (_, index) => {
      const cpu = Math.round(600 + random() * 3000);
      return [`${name}-n${index + 1}`, {loads: {cpu, memory: Math.round(cpu * 3e6)}, capacity: {cpu: 4000, memory: 16e9}, type: 'general',
        after: {cpu: Math.round(2000 + (cpu - 2000) * 0.3), memory: Math.round(cpu * 3e6)}}];
    }));
    const names = Object.keys(nodes);
    const movements = Object.fromEntries(Array.from({length: 8}, (_, index) => [String(index + 1).padStart(4, '0'), {pod: `shop/cart-${index}`, from: names[index % names.length],
      to: names[(index * 5 + 3) % names.length], state: index === 7 ? 'Elsewhere' : 'Waiting', ...(index === 7 ? {node: names[0], message: 'the scheduler chose another node'} : {}), reason: `cpu is 1.6 times as high there as on ${names[(index * 5 + 3) % names.length]}`, gain: round(0.05 - index * 0.005)}]));
    return {name, policies: {default: {mode: 'DryRun', message: 'plans are made, and carried out once approved'}},
      metrics: {cpu: {balancingThreshold: 1.2, activityThreshold: 500, ratio: 4.1, max: 3600, min: 878, imbalanced: true, deviation: 0.12},
                memory: {balancingThreshold: 1.5, activityThreshold: 0, ratio: 1.31, max: 9e9, min: 6.8e9, imbalanced: false, deviation: 0.05}},
      nodes, plan: {name: 'default-8f2c', uid: 'b7a1', hash: '5d41402abc4b2a76', phase: 'Pending', reason: 'Balancing', created: ago(30),
        policy: 'default', approvable: true, movements, deviation: {before: 0.12, after: 0.03}},
      plans: {'default-8f2c': {created: ago(30), phase: 'Pending', movements: 8, done: 0, message: ''}, 'default-77aa': {created: ago(900), phase: 'Done', movements: 5, done: 5, message: 'all done'},
        'default-6b01': {created: ago(1900), phase: 'Refused', movements: 4, done: 1, message: 'shop/cart-3 has gone since'}},
      history: this.history(200, 10, index => ({cpu: round(1.1 + index / 70), memory: round(1.2 + 0.1 * Math.sin(index / 9))}))};
  }

  ensemble() {
    return {phase: 'Deploying', message: 'member-2 is next: member-1 has its quorum', servers: {total: 5, ready: 4, healthy: 4}, quorum: {needed: 3, healthy: 4, margin: 1},
      leader: 'orders-b-0 in member-2', revision: '5', paused: false, order: ['member-1', 'member-2', 'member-3'],
      records: {'0002': {generation: 5, current: true, status: 'Paused', revision: 'a91c', startedAt: ago(70), reason: 'QuorumAtRisk', message: 'orders-b-1 is not back yet', clusters: {'member-1': {state: 'Done', since: ago(60)}, 'member-2': {state: 'Deploying', since: ago(20)}, 'member-3': {state: 'Waiting', since: null}}},
        '0001': {generation: 4, current: false, status: 'Done', revision: '77b0', startedAt: ago(4100), clusters: {'member-1': {state: 'Done', since: ago(4000)}, 'member-2': {state: 'Done', since: ago(3900)}, 'member-3': {state: 'Done', since: ago(3800)}}}},
      clusters: {
        'member-1': {replicas: 2, ready: 2, revision: '5', state: 'Done', message: '', members: {'orders-a-0': {id: 1, role: 'follower', ready: true}, 'orders-a-1': {id: 2, role: 'follower', ready: true}}},
        'member-2': {replicas: 2, ready: 1, revision: '5', state: 'Deploying', message: 'orders-b-1 starts', members: {'orders-b-0': {id: 11, role: 'leader', ready: true}, 'orders-b-1': {id: 12, role: 'down', ready: false}}},
        'member-3': {replicas: 1, ready: 1, revision: '4', state: 'Waiting', message: 'waits for member-2', members: {'orders-c-0': {id: 21, role: 'observer', ready: true}}}}};
  }

  /** One of whose members the dashboard cannot read. */
  unreadEnsemble() {
    const ensemble = this.ensemble();
    Object.assign(ensemble, {phase: 'Ready', message: 'all servers run revision 4'});
    Object.assign(ensemble.clusters['member-3'], {ready: null, message: 'cannot be read: zookeepers: connection refused', members: {}});
    return ensemble;
  }

  event(secondsAgo) {
    const {random} = this;
    const kinds = [['autoscaler', 'Normal', 'TriggeredScaleUp', 'Pod shop/checkout-7d9f-3', 'group general 3 -> 4: 2 pods fit there, the cheapest of 3 groups'],
      ['autoscaler', 'Normal', 'ScaleDown', 'Node general-n14', 'removed: unneeded for 10m, 3 pods moved to 2 nodes'],
      ['balancer', 'Normal', 'Planned', 'BalancingPlan default-8f2c', '8 movements, deviation 0.12 -> 0.03'],
      ['distribution', 'Normal', 'HandedOver', 'Cluster member-7', 'from evenkeel-0 to evenkeel-2 in 1.2 s: weight 120 against 97'],
      ['scheduler', 'Warning', 'FailedScheduling', 'Pod shop/checkout-7d9f-1', '0/25 nodes are available: 20 Insufficient cpu, 5 node(s) had untolerated taint.'],
      ['rollout', 'Normal', 'ClusterStarted', 'MultiClusterZooKeeper zk/orders', 'member-2 may begin: the margin of the quorum is 1']];
    const [controller, type, reason, object, message] = pick(random, kinds);
    return {time: ago(secondsAgo), cluster: controller === 'distribution' || controller === 'rollout' ? 'hub' : pick(random, this.names), controller, type, reason, object, message, count: 1 + Math.floor(random() * 3)};
  }

  /** Changes the document, and says what changed. */
  patch(view) {
    const {random} = this;
    const document = this.document(view);
    if (this.mood) return null;
    const [kind] = view.split('/');
    this.sequence++;
    if (kind === 'fleet') {
      const clusters = {};
      for (let index = 0; index < 40; index++) {
        const name = pick(random, this.names);
        const cluster = document.clusters[name];
        cluster.load.cpu = bounded(cluster.load.cpu + (random() - 0.5) * 0.06);
        clusters[name] = {load: {cpu: cluster.load.cpu}};
      }
      return {clusters};
    }
    if (kind === 'cluster') {
      const nodes = {};
      const names = Object.keys(document.nodes);
      for (let index = 0; index < Math.max(1, names.length / 10); index++) {
        const name = pick(random, names);
        const node = document.nodes[name];
        node.load.cpu = bounded(node.load.cpu + (random() - 0.5) * 0.1);
        nodes[name] = {load: {cpu: node.load.cpu}};
      }
      if (this.sequence % 20 !== 0) return {nodes};
      document.history = [...document.history.slice(1), [ago(0), {...document.history.at(-1)[1], cpu: bounded(0.5 + (random() - 0.5) * 0.1)}]];
      return {nodes, history: document.history};
    }
    if (kind === 'events') {
      const key = id(10_000 + this.sequence);
      const oldest = Object.keys(document.events).sort()[0];
      const event = this.event(0);
      document.events[key] = event;
      delete document.events[oldest];
      return {events: {[key]: event, [oldest]: null}};
    }
    return null;
  }
}
