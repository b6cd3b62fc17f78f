import {useEffect, useState} from 'preact/hooks';
import {clockTime} from '../format';
import type {HistoryDocument} from '../live/documents';
import {ask} from '../live/session';

const hours: Record<string, number> = {'6h': 6, '24h': 24, '3d': 72, '7d': 168};
const words: Record<string, string> = {live: 'Live', '6h': '6 hours', '24h': '24 hours', '3d': '3 days', '7d': '7 days'};
const everyMs = 60_000;

export interface Kept {
  document: HistoryDocument | null;
  problem: string;
}

/** What is kept of so long a time, of one member or of all; nothing for "live". */
export function useKept(range: string, cluster = ''): Kept {
  const [kept, set] = useState<Kept>({document: null, problem: ''});
  useEffect(() => {
    const long = hours[range];
    if (!long) {
      set({document: null, problem: ''});
      return undefined;
    }
    const abort = new AbortController();
    const read = async () => {
      if (document.hidden) return;
      const from = new Date(Date.now() - long * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
      const answer = await ask<HistoryDocument>(`/api/history?${new URLSearchParams({from, cluster}).toString()}`, abort.signal);
      if (!abort.signal.aborted) set(was => ({document: answer.value ?? was.document, problem: answer.problem}));
    };
    void read();
    const timer = setInterval(() => void read(), everyMs);
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [range, cluster]);
  return kept;
}

export function RangeChoice({value, onChange}: {value: string; onChange: (value: string) => void}) {
  return (
    <select aria-label="Time range" value={value} onChange={event => onChange(event.currentTarget.value)}>
      {Object.entries(words).map(([key, text]) => <option key={key} value={key}>{text}</option>)}
    </select>
  );
}

/** Says what is not there of the time that was chosen. */
export function RangeNote({range, kept: {document, problem}}: {range: string; kept: Kept}) {
  if (!hours[range]) return null;
  if (problem) return <p class="banner warn" role="alert">{problem}</p>;
  if (!document) return <p class="note" role="status">Reading …</p>;
  if (!document.kept) return <p class="banner warn">No history is kept here: you see what the clusters' APIs remember, which is an hour as a rule. <code>--dashboard-history-file</code> keeps days.</p>;
  const late = document.since && new Date(document.since).getTime() > Date.now() - hours[range] * 3_600_000;
  return late ? <p class="note">The history begins at {clockTime(document.since!)}.</p> : null;
}
