import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {byName, percent, plural} from '../format';
import {merged} from '../live/merge';
import {Card} from '../parts/basic';
import {HeatLegend, HeatMap, type CellGroup} from '../parts/heat_map';
import {Icon} from '../parts/icon';
import type {FrameCluster, Frames, ReportData} from './data';
import {clockOf} from './units';

const framesPerSecond = 8;

function ownerOf(cluster: FrameCluster): string {
  return cluster.owner ?? 'nobody';
}

/** The fleet as it was in frame n; what lies before it is worked out once. */
function useFrames(frames: NonNullable<ReportData['frames']>) {
  const known = useRef<Frames[]>([]);
  return (index: number): Frames => {
    for (let at = known.current.length; at <= index; at++) {
      const frame = frames[at]!;
      known.current.push('patch' in frame ? (merged(known.current[at - 1], frame.patch) as Frames) : {clusters: frame.clusters});
    }
    return known.current[index]!;
  };
}

/** `owned`: somebody looks after each cluster, or should. */
export function Playback({frames, owned}: {frames: NonNullable<ReportData['frames']>; owned: boolean}) {
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [selected, select] = useState<string | null>(null);
  const frame = useFrames(frames)(at);
  const last = frames.length - 1;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => setAt(now => Math.min(last, now + 1)), 1000 / framesPerSecond);
    return () => clearInterval(timer);
  }, [playing, last]);
  useEffect(() => {
    if (at === last) setPlaying(false);
  }, [at, last]);
  const groups = useMemo(() => Object.entries(frame.clusters).sort(([a], [b]) => byName(a, b)).map(([name, cluster]): CellGroup => ({
    name, note: [owned ? ownerOf(cluster) : '', cluster.pending ? `${cluster.pending} pending` : ''].filter(Boolean).join(', '),
    cells: Object.entries(cluster.nodes).sort(([a], [b]) => byName(a, b)).map(([node, [share, state, group, many]]) => ({
      name: `${name}/${node}`, share, state,
      words: `${node} in ${name}${many ? `, ${plural(many, 'node')}` : ''}: ${state}, ${percent(share)}${group ? `, ${group}` : ''}${owned ? `; owner: ${ownerOf(cluster)}` : ''}`,
    })),
  })), [frame, owned]);
  const all = Object.values(frame.clusters);
  const nodes = all.reduce((sum, cluster) => sum + Object.values(cluster.nodes).reduce((count, node) => count + (node[3] ?? 1), 0), 0);
  const pending = all.reduce((sum, cluster) => sum + cluster.pending, 0);
  return (
    <Card id="playback" title="Playback" note="the fleet as it was" wide>
      <div class="player">
        <button type="button" class="primary" onClick={() => {
          if (!playing && at === last) setAt(0);
          setPlaying(!playing);
        }}><Icon name={playing ? 'pause' : 'play'} />{playing ? 'Pause' : 'Play'}</button>
        <input type="range" aria-label="Time" min={0} max={last} value={at} aria-valuetext={clockOf(frames[at]!.t)} onInput={event => {
          setPlaying(false);
          setAt(Number(event.currentTarget.value));
        }} />
        <output><b>{clockOf(frames[at]!.t)}</b> {plural(nodes, 'node')}, {pending} pending</output>
      </div>
      <HeatMap label="Nodes of the fleet by load" groups={groups} selected={selected} onSelect={select} />
      <HeatLegend metric="load" />
    </Card>
  );
}
