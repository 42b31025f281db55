// The model's text as Markdown, drawn as React elements. No HTML is generated, and HTML in the text is shown as text. While the text
// streams, only the last block is parsed and drawn again.

import { memo, useMemo, useRef } from "react";

import "./markdown.css";
import { Code } from "./code";
import { AS_IS, goesOn, parseLive, parseWhole, NOTHING, type Parsed } from "./markdown-blocks";
import { drawBlock } from "./markdown-draw";

interface MarkdownProps {
  text: string;
  /** The text is still streaming. */
  live?: boolean;
  /** Text too long for Markdown may be folded. Never used in permission prompts. */
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
  /** The number of link definitions: a new one can change the links of a block. */
  explained: number;
}

const Block = memo(
  function Block({ token, live }: Props) {
    return goesOn(token) ? <div className="goes-on">{drawBlock(token, live)}</div> : drawBlock(token, live);
  },
  (a, b) => a.token.raw === b.token.raw && a.token.type === b.token.type && goesOn(a.token) === goesOn(b.token) && a.live === b.live && a.explained === b.explained,
);
