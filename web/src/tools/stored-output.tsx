// Output that was too large for the conversation: its first and last lines, the number of lines, and a link to the file with all of it.

import { useEffect, useState } from "react";
import { useParams } from "wouter";

import { get } from "../protocol/api";
import { addressOf } from "../protocol/base-path";
import { number, object, plain, text } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { bytes } from "../strings/figures";
import { TAIL } from "../ui/code";
import { Terminal } from "../ui/terminal";
import { visible } from "../ui/visible";
import { Note } from "./parts";

interface Stored {
  path: string;
  /** In bytes; 0 where the CLI does not say. */
  size: number;
}

const words = strings.tools.stored;

/** How handrail-agent ends the output of a failed command that was cut. */
export const STORED = /… \[truncated; the full output of ([\d,]+) bytes is in (\S+)\]\s*$/;

/** Where the whole output of a call is, if its result has only the beginning. */
export function storedOutput(call: Call): Stored | null {
  const detail = object(call.detail);
  const path = text(detail["persistedOutputPath"]);
  if (path) return { path, size: number(detail["persistedOutputSize"]) };
  const [, size, place] = STORED.exec(plain(call.result)) ?? [];
  return place ? { path: place, size: Number(size!.replaceAll(",", "")) } : null;
}

interface Summary {
  bytes: number;
  lines: number;
  tail: string;
}

interface Props {
  head: string;
  stored: Stored;
  label: string;
  wrong: boolean;
}

export function StoredOutput({ head, stored, label, wrong }: Props) {
  const { id = "" } = useParams<{ id: string }>();
  const address = `/api/sessions/${id}/output?path=${encodeURIComponent(stored.path)}`;
  const [summary, setSummary] = useState<Summary | null>(null);
  const [gone, setGone] = useState(false);
  useEffect(() => {
    let wanted = true;
    get<Summary>(`${address}&tail=${TAIL}`).then(
      (told) => wanted && setSummary(told),
      () => wanted && setGone(true),
    );
    return () => {
      wanted = false;
    };
  }, [address]);
  const size = summary?.bytes ?? stored.size;
  return (
    <>
      <Terminal text={head} label={label} wrong={wrong} {...(summary && { whole: summary })} />
      <Note>
        {gone ? words.gone(visible(stored.path, true)) : (
          <>
            {summary && words.size(summary.lines, bytes(size))} <a href={addressOf(address)} target="_blank" rel="noopener noreferrer">{words.open}</a>
          </>
        )}
      </Note>
    </>
  );
}
