// One question: its options, a field for another answer, and a note.

import { useId, useState } from "react";

import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { visible } from "../../ui/visible";
import { NOTHING, pick, pickOther, type AskedQuestion, type Picked } from "./asked-rules";

const words = strings.prompts;

interface Props {
  asked: AskedQuestion;
  picked: Picked | undefined;
  onPick(picked: Picked): void;
}

export function AskedOne({ asked, picked = NOTHING, onPick }: Props) {
  const id = useId();
  const kind = asked.several ? "checkbox" : "radio";
  const [noting, setNoting] = useState(picked.note !== "");
  const preview = asked.options.find((one) => one.preview && picked.labels.includes(one.label))?.preview;
  return (
    <fieldset className="asked-one">
      <legend>
        {visible(asked.question)} <span className="small soft">{asked.several ? words.chooseSome : words.chooseOne}</span>
      </legend>
      <div className={preview ? "asked-sides" : ""}>
        <div className="asked-options">
          {asked.options.map((option) => (
            <label key={option.label} className="asked-option">
              <input type={kind} name={id} aria-label={visible(option.label, true)} checked={picked.labels.includes(option.label)} onChange={() => onPick(pick(picked, option.label, asked.several))} />
              <span>
                {visible(option.label)}
                {option.description && <small>{visible(option.description)}</small>}
              </span>
            </label>
          ))}
          <label className="asked-option">
            <input type={kind} name={id} checked={picked.other} onChange={() => onPick(pickOther(picked, asked.several))} />
            <span>{words.other}</span>
          </label>
          {picked.other && <input className="asked-words" aria-label={words.otherWords} placeholder={words.otherWords} value={picked.words} onChange={(event) => onPick({ ...picked, words: event.target.value })} ref={focusNew} />}
        </div>
        {preview && <pre className="asked-preview" aria-label={words.preview}>{visible(preview)}</pre>}
      </div>
      {noting ? (
        <input className="asked-words" aria-label={words.notesFor(visible(asked.header, true))} placeholder={words.notes} value={picked.note} onChange={(event) => onPick({ ...picked, note: event.target.value })} ref={picked.note ? undefined : focusNew} />
      ) : (
        <Button kind="quiet" onClick={() => setNoting(true)}>{words.notes}</Button>
      )}
    </fieldset>
  );
}

/** Focus a field as soon as it appears. */
function focusNew(field: HTMLInputElement | null): void {
  if (field && field.value === "") field.focus();
}
