// An event too large to be delivered inline. It is loaded when the user opens it.

import { useState } from "react";
import { useParams } from "wouter";

import { get, reasonOf } from "../../protocol/api";
import { number } from "../../protocol/wire";
import { tell } from "../../state/notices";
import type { Notice } from "../../state/state";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { VisibleText } from "../../ui/visible-text";

/** Characters shown; the full event is in the export. */
const MOST = 200_000;

export function LargeView({ row }: { row: Notice }) {
  const { id } = useParams<{ id: string }>();
  const [whole, setWhole] = useState("");
  const load = async () => {
    try {
      const event = await get<{ data: unknown }>(`/api/sessions/${id}/events/${number(row.facts["seq"])}`);
      setWhole(JSON.stringify(event.data, null, 2).slice(0, MOST));
    } catch (error) {
      tell(reasonOf(error), "error");
    }
  };
  return (
    <div className="notice quiet">
      {strings.notices["too_large"]!(row.facts)} {!whole && <Button kind="quiet" onClick={load}>{strings.conversation.show}</Button>}
      {whole && <pre className="large" tabIndex={0}><VisibleText text={whole} /></pre>}
    </div>
  );
}
