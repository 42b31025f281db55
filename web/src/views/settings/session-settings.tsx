// The settings of a running session. Changes take effect at once.

import { visible } from "../../ui/visible";
import { own } from "../../protocol/wire";
import { askAbout, useAbout, useMcp, useMode, useModel, type About } from "../../state/about";
import { ask, command, useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { openPanel } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Choice } from "./choice";
import { effortOptions, modelOf, modelOptions, modeOptions, thinkingOptions, type Effort, type Mode } from "./options";

const words = strings.panels.settings;

export function SessionSettings({ followed }: { followed: Followed }) {
  const about = useAbout(followed, true);
  const model = useModel(followed);
  const mode = useMode(followed);
  const mayPrompt = useMay("prompt");
  const mayApprove = useMay("approve");
  const session = followed.id;
  const closed = mayPrompt ? "" : strings.panels.needsScope("prompt");
  const efforts = effortOptions(modelOf(about.models, model));
  /** The new value of an effort or a thinking budget is part of `about`. */
  const after = async (done: Promise<unknown>) => {
    await done;
    void askAbout(session);
  };
  return (
    <>
      <p className="soft">{about.asked && !about.running ? strings.panels.asleep : words.sessionMeaning}</p>
      <Choice
        label={words.model}
        value={modelOf(about.models, model)?.value ?? model}
        options={modelOptions(about.models)}
        other={words.modelOther}
        closed={closed}
        onChoose={(chosen) => after(ask("set_model", { session, model: chosen === "default" || chosen === "" ? null : chosen }))}
      />
      <FastMode about={about} closed={closed} onChoose={(chosen) => command("set_model", { session, model: chosen })} />
      <Choice
        label={words.mode}
        value={mode}
        options={modeOptions(mode === "bypassPermissions")}
        open
        closed={mayApprove ? "" : strings.panels.needsScope("approve")}
        onChoose={(chosen) => after(ask("set_permission_mode", { session, mode: chosen as Mode }))}
      />
      <Choice
        label={words.effort}
        value={about.effort}
        options={efforts}
        closed={closed || (efforts.length <= 1 ? words.noEffort : "")}
        onChoose={(chosen) => after(ask("set_effort", { session, effort: (chosen || null) as Effort | null }))}
      />
      <Choice
        label={words.thinking}
        value={about.thinkingTokens === null ? "" : String(about.thinkingTokens)}
        options={thinkingOptions(about.thinkingTokens)}
        other={words.thinkingOther}
        numeric
        closed={closed}
        onChoose={(chosen) => after(ask("set_thinking", { session, tokens: chosen === "" ? null : Number(chosen) }))}
      />
      <div className="setting">
        <h3>{words.style}</h3>
        <p>{about.outputStyle || words.styleDefault}</p>
        <p className="soft">{words.styleFixed}</p>
      </div>
      <Servers followed={followed} />
    </>
  );
}

function FastMode({ about, closed, onChoose }: { about: About; closed: string; onChoose(model: string): void }) {
  const fast = about.models.filter((one) => one.fast && one.value !== "default");
  return (
    <div className="setting" role="group" aria-label={words.fast}>
      <h3>{words.fast}</h3>
      <p>{about.fastMode ? (words.fastStates[about.fastMode] ?? about.fastMode) : words.fastUnknown}</p>
      <p className="soft">{fast.length ? words.fastMeaning : words.fastNone}</p>
      <div className="row">
        {fast.map((one) => (
          <Button key={one.value} disabled={closed !== ""} onClick={() => onChoose(one.value)}>
            {words.fastSwitch(one.name)}
          </Button>
        ))}
      </div>
    </div>
  );
}

function Servers({ followed }: { followed: Followed }) {
  const servers = useMcp(followed);
  return (
    <div className="setting">
      <h3>{words.mcp}</h3>
      <p>{servers.length ? servers.map((one) => visible(`${one.name}: ${own(strings.panels.mcp.statuses, one.status) ?? one.status}`, true)).join(", ") : strings.panels.help.none}</p>
      <div>
        <Button onClick={() => openPanel("mcp")}>{words.mcpOpen}</Button>
      </div>
    </div>
  );
}
