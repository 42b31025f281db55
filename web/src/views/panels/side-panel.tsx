// The side panel, closed by default. Beside the conversation if there is room, otherwise over it.

import { lazy, Suspense, useEffect, useRef, type ComponentType } from "react";

import { useEscape } from "../../state/escape";
import type { Followed } from "../../state/followed";
import { openPanel, usePage, type Panel } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import "./panels.css";

type View = ComponentType<{ followed: Followed }>;

const VIEWS: Record<Panel, View> = {
  tasks: lazy(async () => ({ default: (await import("./tasks-panel")).TasksPanel })),
  changes: lazy(async () => ({ default: (await import("./changes-panel")).ChangesPanel })),
  context: lazy(async () => ({ default: (await import("./context-panel")).ContextPanel })),
  mcp: lazy(async () => ({ default: (await import("./mcp-panel")).McpPanel })),
  help: lazy(async () => ({ default: (await import("./help-panel")).HelpPanel })),
  settings: lazy(async () => ({ default: (await import("./settings-panel")).SettingsPanel })),
  inspector: lazy(async () => ({ default: (await import("./inspector-panel")).InspectorPanel })),
};

const WIDE: readonly Panel[] = ["changes", "inspector"];

export function SidePanel({ followed }: { followed: Followed }) {
  const panel = usePage((page) => page.panel);
  useEscape("panel", panel !== "", () => openPanel(""));
  if (!panel) return null;
  return <Opened key={panel} panel={panel} followed={followed} />;
}

function Opened({ panel, followed }: { panel: Panel; followed: Followed }) {
  const box = useRef<HTMLElement>(null);
  useFocusInside(box);
  const View = VIEWS[panel];
  const name = strings.panels.names[panel];
  return (
    <>
      <div className="panel-veil" onClick={() => openPanel("")} aria-hidden="true" />
      <aside ref={box} className={WIDE.includes(panel) ? "side-panel wide" : "side-panel"} aria-label={name} tabIndex={-1}>
        <header className="panel-head row">
          <h2 className="grow">{name}</h2>
          <Button kind="quiet" aria-label={strings.shell.closePanel} title={strings.shell.closePanel} keys="Esc" onClick={() => openPanel("")}>
            <Icon name="close" />
          </Button>
        </header>
        <Suspense fallback={<p className="panel-part soft">{strings.panels.loading}</p>}>
          <View key={followed.id} followed={followed} />
        </Suspense>
      </aside>
    </>
  );
}

/** Move the focus into the panel when it opens, and back when it closes. */
function useFocusInside(box: React.RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const before = document.activeElement;
    const inside = box.current;
    inside?.focus({ preventScroll: true });
    return () => {
      const now = document.activeElement;
      const still = now === document.body || inside?.contains(now) || now === null;
      if (still && before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, [box]);
}
