// Words of the model as Markdown. Its tokens are drawn as elements; no HTML is ever made of them, and HTML that the model writes is text.
// While it is written only the last block is read and drawn again.

import { memo, useMemo, useRef } from "react";

import "./markdown.css";
import { Code } from "./code";
import { AS_IS, goesOn, parseLive, parseWhole, NOTHING, type Parsed } from "./markdown-blocks";
import { drawBlock } from "./markdown-draw";

interface MarkdownProps {
  text: string;
  /** It is still being written. */
  live?: boolean;
  /** What is too long to be read as Markdown may be folded. Never before somebody allows something. */
  fold?: boolean;
}

export function Markdown({ text, live = false, fold = true }: MarkdownProps) {
  const before = useRef<Parsed>(NOTHING);
  const parsed = useMemo(() => {
    before.current = live ? parseLive(text, before.current) : parseWhole(text, before.current);
    return before.current;
  }, [text, live]);
  const explained = Object.keys(parsed.links).length;
  return (
    <div className="markdown">
      {parsed.tokens.map((token, at) => token.type === AS_IS ? <Code key={at} text={token.raw} fold={fold} live={live} /> : (
        <Block key={at} token={token} live={live && at === parsed.tokens.length - 1} explained={explained} />
      ))}
    </div>
  );
}

interface Props {
  token: Parsed["tokens"][number];
  live: boolean;
  /** How many links are explained elsewhere in the text: a block may mean other links when there are more. */
  explained: number;
}

const Block = memo(
  function Block({ token, live }: Props) {
    return goesOn(token) ? <div className="goes-on">{drawBlock(token, live)}</div> : drawBlock(token, live);
  },
  (a, b) => a.token.raw === b.token.raw && a.token.type === b.token.type && goesOn(a.token) === goesOn(b.token) && a.live === b.live && a.explained === b.explained,
);
