import {useEffect, useReducer, useRef} from 'preact/hooks';
import {merged} from './merge';

/** `refused`: the server is there and says why it shows nothing. */
export type Connection = 'connecting' | 'live' | 'lost' | 'denied' | 'refused';

export interface Live<T> {
  document: T | null;
  connection: Connection;
  /** When the connection was lost, in ms since 1970; 0 while it is there. */
  lostAt: number;
  /** What the server says, where it refuses. */
  message: string;
}

export function notYet<T>(): Live<T> {
  return {document: null, connection: 'connecting', lostAt: 0, message: ''};
}

/** A server pings every 15 s: after two that did not come, a connection that looks open is not. */
const silenceMs = 35_000;
const retryFirstMs = 500;
const retryMostMs = 10_000;
/** Longer than the server waits for the hub. */
const answerMs = 5_000;

interface Message<T> {
  view: string;
  document?: T;
  patch?: unknown;
}

/**
 * One stream of one view. It connects again by itself, later each time, and at once when the machine comes back online or the page is
 * looked at again. While nobody looks at the page it lets go, so that a forgotten tab costs the server nothing.
 */
class Stream<T> {
  state: Live<T> = notYet();
  private source: EventSource | null = null;
  private retry = 0;
  private timer = 0;
  private silence = 0;
  private frame = 0;
  private pending: unknown[] = [];
  private closed = false;

  constructor(private readonly view: string, private readonly empty: T, private readonly changed: () => void) {
    this.open = this.open.bind(this);
    this.looked = this.looked.bind(this);
    addEventListener('online', this.open);
    document.addEventListener('visibilitychange', this.looked);
    this.open();
  }

  close() {
    this.closed = true;
    removeEventListener('online', this.open);
    document.removeEventListener('visibilitychange', this.looked);
    clearTimeout(this.timer);
    this.drop();
  }

  private looked() {
    if (document.hidden) {
      clearTimeout(this.timer);
      this.drop();
    } else if (!this.source) {
      this.open();
    }
  }

  private drop() {
    clearTimeout(this.silence);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.pending = [];
    this.source?.close();
    this.source = null;
  }

  private get address() {
    return `/api/stream?view=${encodeURIComponent(this.view)}`;
  }

  private open() {
    if (this.closed || document.hidden) return;
    this.drop();
    clearTimeout(this.timer);
    const source = new EventSource(this.address);
    this.source = source;
    source.addEventListener('document', event => {
      const message = JSON.parse(event.data) as Message<T>;
      this.pending = [];
      this.retry = 0;
      this.heard();
      this.set({document: {...this.empty, ...message.document}, connection: 'live', lostAt: 0, message: ''});
    });
    source.addEventListener('patch', event => {
      this.heard();
      this.pending.push((JSON.parse(event.data) as Message<T>).patch);
      // However many patches arrive between two frames, the page is drawn once.
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        let value: unknown = this.state.document;
        for (const patch of this.pending) value = merged(value, patch);
        this.pending = [];
        this.set({...this.state, document: {...this.empty, ...(value as T)}});
      });
    });
    source.addEventListener('ping', () => this.heard());
    source.onerror = () => void this.lost();
  }

  private heard() {
    clearTimeout(this.silence);
    this.silence = window.setTimeout(() => void this.lost(), silenceMs);
  }

  private async lost() {
    this.drop();
    // Who was refused is not cut off by trying again, and before the first answer nothing has been lost.
    const had = this.state.connection === 'live';
    if (had) this.set({...this.state, connection: 'lost', lostAt: Date.now()});
    this.retry = Math.min(this.retry ? this.retry * 2 : retryFirstMs, retryMostMs);
    const next = await this.why();
    if (this.closed || this.source) return;
    this.set({...this.state, ...next, lostAt: next.connection === 'lost' ? this.state.lostAt || Date.now() : 0});
    this.timer = window.setTimeout(this.open, this.retry);
  }

  /** An EventSource does not say why it failed: the same question is asked once more, and only the beginning of the answer is read. */
  private async why(): Promise<{connection: Connection; message: string}> {
    const answered = new AbortController();
    const late = window.setTimeout(() => answered.abort(), answerMs);
    try {
      const answer = await fetch(this.address, {signal: answered.signal});
      if (answer.status === 401) return {connection: 'denied', message: ''};
      if (answer.ok) return {connection: 'lost', message: ''};
      const said = (await answer.json().catch(() => null)) as {message?: string} | null;
      return {connection: 'refused', message: said?.message ?? `the server answered ${answer.status}`};
    } catch {
      return {connection: 'lost', message: ''};
    } finally {
      clearTimeout(late);
      answered.abort();
    }
  }

  private set(state: Live<T>) {
    this.state = state;
    if (!this.closed) this.changed();
  }
}

/** The view's document as it is now, with what it lacks taken from `empty`. Another view begins without one. */
export function useView<T>(view: string, empty: T): Live<T> {
  const [, redraw] = useReducer<number, void>(count => count + 1, 0);
  const stream = useRef<{view: string; stream: Stream<T>} | null>(null);
  useEffect(() => {
    const made = new Stream<T>(view, empty, () => redraw());
    stream.current = {view, stream: made};
    redraw();
    return () => made.close();
  }, [view]);
  return stream.current?.view === view ? stream.current.stream.state : notYet();
}
