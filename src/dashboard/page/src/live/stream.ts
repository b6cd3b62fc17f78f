import {useEffect, useReducer, useRef} from 'preact/hooks';
import {merged} from './merge';

export type Connection = 'connecting' | 'live' | 'lost' | 'denied';

export interface Live<T> {
  document: T | null;
  connection: Connection;
  /** When the connection was lost, in ms since 1970; 0 while it is there. */
  lostAt: number;
}

/** A server pings every 15 s: after two that did not come, a connection that looks open is not. */
const silenceMs = 35_000;
const retryFirstMs = 500;
const retryMostMs = 10_000;

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
  state: Live<T> = {document: null, connection: 'connecting', lostAt: 0};
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

  private open() {
    if (this.closed || document.hidden) return;
    this.drop();
    clearTimeout(this.timer);
    const source = new EventSource(`/api/stream?view=${encodeURIComponent(this.view)}`);
    this.source = source;
    source.addEventListener('document', event => {
      const message = JSON.parse(event.data) as Message<T>;
      this.pending = [];
      this.retry = 0;
      this.heard();
      this.set({document: {...this.empty, ...message.document}, connection: 'live', lostAt: 0});
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
    this.set({...this.state, connection: 'lost', lostAt: this.state.lostAt || Date.now()});
    this.retry = Math.min(this.retry ? this.retry * 2 : retryFirstMs, retryMostMs);
    // An EventSource does not say why it failed: a token that is no longer taken is told apart by asking.
    const denied = await fetch('/api/session').then(answer => answer.status === 401, () => false);
    if (this.closed || this.source) return;
    if (denied) this.set({...this.state, connection: 'denied'});
    this.timer = window.setTimeout(this.open, this.retry);
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
  return stream.current?.view === view ? stream.current.stream.state : {document: null, connection: 'connecting', lostAt: 0};
}
