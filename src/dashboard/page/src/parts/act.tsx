import {createContext, type ComponentChildren} from 'preact';
import {useCallback, useContext, useEffect, useRef, useState} from 'preact/hooks';
import type {Right, Session} from '../live/documents';
import {carryOut, look, type Act, type Preview} from '../live/session';
import {Icon} from './icon';

/** Who looks at the page. */
export const Viewer = createContext<Session | null>(null);

export function useMay(right: Right): boolean {
  return useContext(Viewer)?.may[right] ?? false;
}

interface Question {
  act: Act;
  label: string;
  done?: (() => void) | undefined;
}

const Ask = createContext<(question: Question) => void>(() => undefined);

/** A button that says what would happen, and does it once that is confirmed. Those who may not see none. */
export function ActButton({act, right, label, primary, done}: {act: Act; right: Right; label: string; primary?: boolean; done?: () => void}) {
  const may = useMay(right);
  const ask = useContext(Ask);
  if (!may) return null;
  return <button type="button" class={primary ? 'primary' : undefined} onClick={() => ask({act, label, done})}>{label}</button>;
}

/**
 * The page and the one dialog in which its buttons ask. The question belongs to the page: what arrives meanwhile may take the button away
 * and leaves the question as it was asked.
 */
export function Confirming({children}: {children: ComponentChildren}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const [count, setCount] = useState(0);
  const ask = useCallback((asked: Question) => {
    setQuestion(asked);
    setCount(before => before + 1);
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  // The browser tells of a closed dialog later, when the next question may stand in it already.
  const closed = () => !dialog.current?.open && setQuestion(null);
  return (
    <Ask.Provider value={ask}>
      {children}
      <dialog ref={dialog} class="confirm" aria-label={question?.label ?? ''} onClose={closed}>
        {question && <Asked key={count} question={question} close={() => dialog.current?.close()} />}
      </dialog>
    </Ask.Provider>
  );
}

function Asked({question: {act, label, done}, close}: {question: Question; close: () => void}) {
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    void look(act).then(answer => {
      setPreview(answer.value);
      setProblem(answer.problem);
    });
  }, []);
  const confirm = async () => {
    if (!preview) return;
    setBusy(true);
    const answer = await carryOut(act, preview.seen);
    setBusy(false);
    setProblem(answer.problem);
    if (!answer.value) return;
    setSaid(answer.value.message);
    done?.();
    if (!/refused/.test(answer.value.message)) close();
  };
  return (
    <>
      <h2>{preview?.title ?? label}</h2>
      {!preview && !problem && <p role="status">Working out what would happen …</p>}
      {preview && (
        <ul class="effects" tabIndex={0} aria-label="What happens">
          {preview.effects.map(effect => <li key={effect}>{effect}</li>)}
        </ul>
      )}
      {preview?.warnings.map(warning => <p key={warning} class="banner warn"><Icon name="warning" /><span>{warning}</span></p>)}
      <p class="bad-text" role="alert">{problem}</p>
      {said && <p role="status">{said}</p>}
      <div class="confirm-end">
        <button type="button" onClick={close}>{said ? 'Close' : 'Cancel'}</button>
        {!said && <button type="button" class="primary" disabled={busy || !preview} onClick={() => void confirm()}>{busy ? 'Doing it …' : label}</button>}
      </div>
    </>
  );
}
