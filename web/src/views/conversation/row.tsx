// A row of the conversation, by kind.

import { memo, useState, type ComponentType } from "react";

import { useParams } from "wouter";

import { plain, text } from "../../protocol/wire";
import { answeredHere } from "../../state/answered-here";
import { follow, useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { retryTurn } from "../../state/session-actions";
import type { Call, Notice, Row, Said, Unknown, Words } from "../../state/state";
import { strings } from "../../strings";
import { told } from "../../strings/told";
import { Button } from "../../ui/button";
import { Guarded } from "../../ui/guarded";
import { Icon } from "../../ui/icon";
import { Markdown } from "../../ui/markdown";
import { Images } from "../../ui/images";
import { visible } from "../../ui/visible";
import { VisibleText } from "../../ui/visible-text";
import { CallView } from "./call";
import { EndView } from "./end";
import type { Fold } from "./fold";
import { FoldView } from "./fold-view";
import { LargeView } from "./large";
import { MessageMenu } from "./message-menu";
import { useDetails } from "./use-open";

function SaidView({ row }: { row: Said }) {
  return (
    <article className="said" aria-label={strings.conversation.you} title={row.time ? strings.conversation.saidAt(row.time, row.by) : undefined}>
      <div className="said-words"><VisibleText text={plain(row.blocks)} care="prose" /></div>
      <Images blocks={row.blocks} />
      <MessageMenu row={row} />
      {row.doubted && <p className="small failed">{strings.conversation.doubted}</p>}
    </article>
  );
}

function TextView({ row }: { row: Words }) {
  const words = row.source === "local" ? told(row.text) : row.text;
  if (!words) return null; // another row says it
  return (
    <div className={`words ${row.source}`}>
      <Markdown text={words} live={row.live} />
    </div>
  );
}

function ThinkingView({ row }: { row: Words }) {
  const { thinking, thought, redacted } = strings.conversation;
  const details = useDetails(row.key);
  if (row.redacted) return <p className="thinking small soft">{redacted}</p>;
  return (
    <details className="thinking" {...details}>
      <summary className="small soft">
        <Icon name="brain" /> {row.live ? thinking : thought}
      </summary>
      <Markdown text={row.text} live={row.live} />
    </details>
  );
}

function NoticeView({ row }: { row: Notice }) {
  if (row.about === "too_large") return <LargeView row={row} />;
  const facts = row.about === "answered" ? { ...row.facts, here: answeredHere.has(text(row.facts["question"])) } : row.facts;
  const words = strings.notices[row.about]?.(facts) ?? row.about;
  if (!words) return null; // another row says it
  const loud = row.tone === "error" || row.tone === "warning";
  return (
    <p className={`notice ${row.tone} ${row.about}`} role={loud ? "status" : undefined}>
      <VisibleText text={words} care="prose" />
      {row.about === "question_interrupted" && <RunAgain question={text(row.facts["question"])} />}
    </p>
  );
}

/** Offered only for the last interrupted turn; a later message replaces it. */
function RunAgain({ question }: { question: string }) {
  const { id } = useParams<{ id: string }>();
  return id ? <RunAgainButton followed={follow(id)} question={question} /> : null;
}

function RunAgainButton({ followed, question }: { followed: Followed; question: string }) {
  const current = followed.use((shown) => shown.state.retry === question);
  const mayPrompt = useMay("prompt");
  const [busy, setBusy] = useState(false);
  if (!current || !mayPrompt) return null;
  const run = async () => {
    setBusy(true);
    await retryTurn(followed.id);
    setBusy(false);
  };
  return <> <Button disabled={busy} title={strings.conversation.runAgainHelp} onClick={() => void run()}>{strings.conversation.runAgain}</Button></>;
}

function UnknownView({ row }: { row: Unknown }) {
  return (
    <details className="unknown small" {...useDetails(row.key)}>
      <summary>{strings.conversation.unknown(visible(row.what, true))}</summary>
      <pre><VisibleText text={JSON.stringify(row.data, null, 2)} /></pre>
    </details>
  );
}

/** Shown for a row whose view threw. */
function NotDrawn({ row }: { row: Row | Fold }) {
  return <p className="notice warning" role="status">{strings.conversation.notDrawn(row.kind)}</p>;
}

type Shown = Row | Fold;
type View<Kind extends Shown["kind"]> = ComponentType<{ row: Extract<Shown, { kind: Kind }> }>;

const VIEWS: { [Kind in Shown["kind"]]: View<Kind> } = {
  said: SaidView,
  text: TextView as View<"text">,
  thinking: ThinkingView as View<"thinking">,
  call: ({ row }: { row: Call }) => <CallView call={row} />,
  notice: NoticeView,
  end: EndView,
  unknown: UnknownView,
  fold: FoldView,
};

export const RowView = memo(function RowView({ row }: { row: Shown }) {
  const View = VIEWS[row.kind] as ComponentType<{ row: Shown }>;
  return <div className="row-box"><Guarded place={row.key} instead={<NotDrawn row={row} />}><View row={row} /></Guarded></div>;
});

