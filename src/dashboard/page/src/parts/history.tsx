import {useMemo} from 'preact/hooks';
import type {HistoryPoint} from '../live/documents';
import {Empty} from './basic';
import {Chart} from './chart';

/** What a document's `history` tells of these names. */
export function HistoryChart({title, history, names, format, atLeast, threshold, style}: {
  title: string; history: HistoryPoint[]; names: string[]; format: (value: number) => string; atLeast?: number;
  threshold?: {name: string; value: number} | undefined; style?: 'line' | 'step';
}) {
  const wanted = names.join('\n');
  const {t, lines} = useMemo(() => ({
    t: history.map(([time]) => new Date(time).getTime() / 1000),
    lines: wanted.split('\n').filter(Boolean).map(name => ({name, values: history.map(([, values]) => values[name] ?? null)})),
  }), [history, wanted]);
  if (t.length < 2 || lines.length === 0) return <Empty title="No history yet">It begins when somebody looks at this page, with a point every few seconds.</Empty>;
  return <Chart title={title} t={t} lines={lines} format={format} clock atLeast={atLeast} threshold={threshold} style={style} />;
}
