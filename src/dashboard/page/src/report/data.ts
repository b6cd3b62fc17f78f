// What src/dashboard/page_assets.h's ReportPage is given. Times are seconds since the beginning of what is reported.

export interface Line {
  name: string;
  values: (number | null)[];
}

export interface Series {
  title: string;
  unit?: string;
  /** "time", or what stands side by side: "node", "shard". */
  x?: string;
  /** Seconds; empty where there are names. */
  t: number[];
  /** Of what stands side by side, in the order of the values. */
  names?: string[];
  lines: Line[];
  style?: 'line' | 'step' | 'stack';
}

export interface Distribution {
  title: string;
  unit?: string;
  /** In rising order. */
  values: number[];
}

export interface Owners {
  t: number[];
  /** Per cluster: from when on who owned it. */
  clusters: Record<string, [number, string | null][]>;
}

export interface Move {
  t: number;
  cluster: string;
  object: string;
  from: string;
  to: string;
  reason?: string;
  gain?: number | null;
}

export interface ReportTable {
  title: string;
  columns: string[];
  rows: (string | number | null)[][];
}

/** Load 0..1, state, group; and how many nodes stand together there, if more than one. */
export type FrameNode = [number, string, string] | [number, string, string, number];

export interface FrameCluster {
  nodes: Record<string, FrameNode>;
  pending: number;
  /** Not there: nobody. A merge patch takes an owner away by null, which is never a value. */
  owner?: string | null;
}

export interface Frames {
  clusters: Record<string, FrameCluster>;
}

export interface ReportData {
  kind: string;
  title: string;
  subtitle?: string;
  generated?: string;
  command?: string;
  facts?: [string, string][];
  series?: Series[];
  distributions?: Distribution[];
  owners?: Owners | null;
  moves?: Move[];
  tables?: ReportTable[];
  /** The first is whole, each other one a merge patch against the one before. */
  frames?: ({t: number; clusters: Frames['clusters']} | {t: number; patch: unknown})[];
}
