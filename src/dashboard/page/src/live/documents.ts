// The documents of src/dashboard/documents.h, as they arrive. Times are RFC 3339 in UTC; shares are 0..1 and may exceed 1.

export type Health = 'Healthy' | 'Degraded' | 'Unreachable' | 'Unowned' | 'Unknown';

export interface FleetCluster {
  owner: string | null;
  shard?: number;
  wanted?: string | null;
  epoch?: number;
  health: Health;
  message?: string;
  /** Since when it cannot be reached: all that is told of it is from before. */
  unknownSince?: string | null;
  /** `total` counts all; cordoned nodes are `ready`, those that are being deleted neither that nor `notReady`. */
  nodes: {ready: number; total: number; upcoming: number; notReady: number};
  pods: {running: number; pending: number; total: number};
  load: Record<string, number>;
  weight?: number;
  hot?: boolean;
  groups?: number;
}

export interface Handover {
  time: string;
  cluster: string;
  from: string | null;
  to: string | null;
  reason?: string;
  seconds?: number;
}

export interface Replica {
  shard?: number;
  alive: boolean;
  leaving?: boolean;
  since?: string | null;
  /** When it was last heard of, once it is gone. */
  goneSince?: string | null;
  clusters: number;
  weight?: number;
}

export interface FleetDocument {
  hub: {name: string; reachable: boolean; message?: string};
  plan?: {epoch: number; method: string; leader?: string; time?: string} | null;
  /** Also those that are gone, until others have come in their place. */
  replicas: Record<string, Replica>;
  clusters: Record<string, FleetCluster>;
  handovers: Record<string, Handover>;
}

// What a document is before anything is known: fields that come later, or that a cluster does not have, are empty and not missing.
export const emptyFleet: FleetDocument = {hub: {name: '', reachable: true}, replicas: {}, clusters: {}, handovers: {}};

export type NodeState = 'Ready' | 'NotReady' | 'Cordoned' | 'Deleting' | 'Upcoming' | 'Unknown';

export interface ClusterNode {
  group: string | null;
  type?: string | null;
  zone?: string | null;
  state: NodeState;
  since?: string | null;
  load: Record<string, number>;
  requested?: Record<string, string>;
  allocatable?: Record<string, string>;
  pods: number;
  unneededSince?: string | null;
  waits?: string | null;
}

export interface NodeGroup {
  target: number;
  min: number;
  max: number;
  ready: number;
  upcoming: number;
  backoffUntil?: string | null;
  backoffReason?: string | null;
  pricePerHour?: number | null;
  /** It is a NodeGroup object, whose target people may change. */
  scalable?: boolean;
}

export interface PendingPod {
  since?: string | null;
  cpu?: string;
  memory?: string;
  reasons?: Record<string, string>;
  message?: string;
  /** The whole answer: what each node group would have to say, or else the scheduler's words. */
  why?: string;
}

export type HistoryPoint = [string, Record<string, number>];

export interface ClusterDocument {
  name: string;
  owner: string | null;
  health: Health;
  message?: string;
  /** Why the member cannot be read at the moment; its owner may fail to reach it nonetheless. */
  unread?: string | null;
  unknownSince?: string | null;
  server?: string;
  metrics: string[];
  nodes: Record<string, ClusterNode>;
  groups: Record<string, NodeGroup>;
  pending: Record<string, PendingPod>;
  /** Of which `pending` has the longest-waiting ones. */
  pendingTotal?: number;
  scaleDown?: {enabled: boolean; message?: string; cooldownUntil?: string | null; candidates?: number; inProgress?: string[]} | null;
  history: HistoryPoint[];
}

export const emptyCluster: ClusterDocument = {name: '', owner: null, health: 'Unknown', metrics: [], nodes: {}, groups: {}, pending: {}, history: []};

export interface BalancePlan {
  name: string;
  uid: string;
  hash: string;
  phase: string;
  /** Of the balancer: QuickBalancing, ConstraintCheck ... */
  reason?: string;
  message?: string;
  created?: string;
  policy?: string;
  approvable: boolean;
  movements: Record<string, {pod: string; from: string; to: string; state: string; reason?: string; gain?: number | null; message?: string; node?: string}>;
  deviation?: {before: number; after: number} | null;
}

export interface BalanceNode {
  loads: Record<string, number>;
  capacity?: Record<string, number>;
  type?: string | null;
  after?: Record<string, number> | null;
}

export interface BalanceMetric {
  balancingThreshold: number;
  activityThreshold: number;
  ratio: number;
  max: number;
  min: number;
  imbalanced: boolean;
  deviation?: number;
}

export interface BalanceDocument {
  name: string;
  /** Why the member cannot be read at the moment. */
  unread?: string | null;
  unknownSince?: string | null;
  policies: Record<string, {mode: string; message?: string}>;
  metrics: Record<string, BalanceMetric>;
  nodes: Record<string, BalanceNode>;
  plan: BalancePlan | null;
  plans: Record<string, {created?: string; phase: string; movements: number; done: number; message?: string}>;
  history: HistoryPoint[];
}

export const emptyBalance: BalanceDocument = {name: '', policies: {}, metrics: {}, nodes: {}, plan: null, plans: {}, history: []};

export interface EnsembleMember {
  id?: number;
  role: string;
  ready: boolean;
}

export interface RolloutRecord {
  generation?: number;
  current?: boolean;
  status?: string;
  revision?: string;
  startedAt?: string;
  progress?: string;
  reason?: string;
  message?: string;
  clusters: Record<string, {state: string; since?: string | null}>;
}

export interface Ensemble {
  phase: string;
  message?: string;
  servers: {total: number; ready: number; healthy: number};
  quorum: {needed: number; healthy: number; margin: number};
  leader: string | null;
  revision?: string;
  paused?: boolean;
  order?: string[];
  records: Record<string, RolloutRecord>;
  clusters: Record<
    string,
    {replicas: number; /** null: it cannot be read. */ ready?: number | null; revision?: string; state: string; message?: string; unknownSince?: string | null; members?: Record<string, EnsembleMember>}
  >;
}

export interface RolloutsDocument {
  /** Why the hub cannot be read at the moment. */
  unread?: string | null;
  ensembles: Record<string, Ensemble>;
}

export interface FleetEvent {
  time: string;
  cluster: string;
  controller: string;
  type: 'Normal' | 'Warning';
  reason: string;
  object: string;
  message: string;
  count?: number;
}

export interface EventsDocument {
  /** Of clusters that cannot be read, why. */
  silent?: Record<string, string>;
  events: Record<string, FleetEvent>;
}

export type Right = 'logs' | 'cordon' | 'drain' | 'scale' | 'approve' | 'pause' | 'sessions';

export interface Session {
  user: string;
  may: Partial<Record<Right, boolean>>;
  /** Why it is not known what they may, so that they may nothing. */
  unknown?: string;
  version: string;
  fleet: string;
}

/** An entry of /api/find. */
export interface FoundThing {
  kind: 'Node' | 'Pod' | 'NodeGroup';
  cluster: string;
  /** Of a pod: namespace/name. */
  name: string;
  state?: string;
  node?: string | null;
  group?: string | null;
  ready?: number;
  containers?: number;
  restarts?: number;
  since?: string | null;
  message?: string | null;
}

export interface FoundThings {
  found: FoundThing[];
  total: number;
  missing: string[];
}

export interface ObjectDocument {
  kind: string;
  namespace?: string | null;
  name: string;
  uid: string;
  unschedulable: boolean;
  yaml: string;
  containers: string[];
  events: {time: string; type: string; reason: string; message: string; by: string; count: number}[];
  eventsUnread?: string | null;
}

export interface SessionRow {
  handle: string;
  user: string;
  from: string;
  opened: string;
  used: string;
  own: boolean;
}

/** Of /api/history. */
export interface HistoryDocument {
  /** False: nothing is, and nothing else is there. */
  kept: boolean;
  events?: Record<string, FleetEvent>;
  points?: HistoryPoint[];
  /** Of the oldest that there is. */
  since?: string | null;
}
