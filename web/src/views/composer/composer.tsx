// The message field. Enter sends, Shift+Enter inserts a line break; the draft is kept per session.

import { useEffect, useLayoutEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from "react";

import { useMay } from "../../state/bridge";
import { setDraft, useDraft } from "../../state/drafts";
import { useEscape } from "../../state/escape";
import type { Followed } from "../../state/followed";
import { attach, useOutbox, type Picture } from "../../state/outbox";
import { strings } from "../../strings";
import "./composer.css";
import { ComposerButtons } from "./composer-buttons";
import { Pictures } from "./pictures";
import { Queue } from "./queue";
import { isEmpty, isReady, sendDraft, stopTurn } from "./send";
import { useFieldCompletion } from "./use-field-completion";
import { useHistory } from "./use-history";

const words = strings.composer;
const NO_PICTURES: Picture[] = [];

export function Composer({ followed }: { followed: Followed }) {
  const mayPrompt = useMay("prompt");
  return (
    <div className="composer">
      {mayPrompt ? <Writing followed={followed} /> : <p className="composer-shut small soft" role="note">{words.mayNot}</p>}
    </div>
  );
}

function Writing({ followed }: { followed: Followed }) {
  const session = followed.id;
  const written = useDraft(session);
  const pictures = useOutbox((box) => box.pictures[session]) ?? NO_PICTURES;
  const running = followed.use((shown) => shown.state.turn.running);
  const field = useRef<HTMLTextAreaElement>(null);
  const [over, setOver] = useState(false);
  const history = useHistory(followed);
  const completion = useFieldCompletion(followed, written, field);
  useGrow(field, written);
  useArrival(followed, field);
  useEscape("input", written !== "", () => {
    history.drop(written);
    setDraft(session, "");
  });
  useEscape("turn", running, () => stopTurn(session));

  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // an input method is composing
    if (completion.press(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      void sendDraft(session);
      return;
    }
    const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
    const recalled = plain ? history.step(event.key, written) : null;
    if (recalled === null) return;
    event.preventDefault();
    setDraft(session, recalled);
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(session, files);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void attach(session, [...event.dataTransfer.files]);
  };
  const insert = (mark: string) => {
    const blank = mark === "@" && written && !/\s$/.test(written) ? " " : "";
    setDraft(session, mark === "/" ? `/${written}` : `${written}${blank}${mark}`);
    completion.place(mark === "/" ? 1 : written.length + blank.length + 1);
  };
  return (
    <>
      <Queue followed={followed} onEdit={() => field.current?.focus()} />
      <form
        className={over ? "composer-box over" : "composer-box"}
        onSubmit={(event) => (event.preventDefault(), void sendDraft(session))}
        onDragOver={(event) => event.dataTransfer.types.includes("Files") && (event.preventDefault(), setOver(true))}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        {completion.list}
        {over && <p className="composer-drop small">{words.drop}</p>}
        <Pictures session={session} pictures={pictures} />
        <textarea
          ref={field}
          rows={1}
          aria-label={words.label}
          placeholder={running ? words.hintRunning : words.hint}
          value={written}
          onChange={(event) => (setDraft(session, event.target.value), completion.look(event.target.selectionStart))}
          onSelect={(event) => completion.look(event.currentTarget.selectionStart)}
          onBlur={completion.leave}
          onKeyDown={press}
          onPaste={paste}
          aria-autocomplete="list"
          {...completion.aria}
        />
        <ComposerButtons session={session} running={running} ready={isReady(written, pictures)} empty={isEmpty(written, pictures)} onInsert={insert} />
      </form>
    </>
  );
}

const A_MOMENT = 100;

/** Focus the field when a session opens, unless something else has the focus; in a new session it may be a button. Not on a phone, where
 *  this would open the keyboard. */
function useArrival(followed: Followed, field: React.RefObject<HTMLTextAreaElement | null>): void {
  useEffect(() => {
    if (matchMedia("(pointer: coarse)").matches) return undefined;
    const timer = setTimeout(() => {
      const active = document.activeElement;
      const fresh = followed.use.getState().state.rows.length === 0 && active instanceof HTMLButtonElement && !active.closest("dialog, [role=menu], [role=alertdialog]");
      if (active === document.body || fresh) field.current?.focus({ preventScroll: true });
    }, A_MOMENT);
    return () => clearTimeout(timer);
  }, [followed, field]);
}

/** The field grows with its text, up to the limit in the style sheet. */
function useGrow(field: React.RefObject<HTMLTextAreaElement | null>, written: string): void {
  useLayoutEffect(() => {
    if (field.current) fit(field.current);
  }, [field, written]);
}

function fit(element: HTMLTextAreaElement): void {
  element.style.height = "auto";
  element.style.height = `${element.scrollHeight + 2}px`;
}
