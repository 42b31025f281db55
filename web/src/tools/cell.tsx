// A notebook cell: code highlighted, Markdown as source and rendered.

import { strings } from "../strings";
import { Code } from "../ui/code";
import { Markdown } from "../ui/markdown";
import { visible } from "../ui/visible";

export function Cell({ source, type, language, title }: { source: string; type: string; language: string; title: string }) {
  const words = [strings.tools.notebook.cell(type), visible(title, true)].filter(Boolean).join(" · ");
  return (
    <div className="tool-cell">
      {type === "markdown" ? (
        <>
          <h4>{words}</h4>
          <div className="tool-body-text">
            <Markdown text={source} />
          </div>
        </>
      ) : (
        <Code text={source} language={language || "python"} title={words} fold />
      )}
    </div>
  );
}
