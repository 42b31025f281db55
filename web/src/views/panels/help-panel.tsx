// Help: about this page, and the commands, tools, agents, skills, plugins and hooks of the session.

import { useState } from "react";

import { useAbout, type About } from "../../state/about";
import { useBridge } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { openDialog } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { visible } from "../../ui/visible";
import "./help-panel.css";

const words = strings.panels.help;
type Section = keyof typeof words.sections;

interface Entry {
  name: string;
  code: boolean;
  detail: string;
  note: string;
}

/** Entries drawn per section, and characters per description; the filter finds the others. */
const MOST = 300;
const LONGEST = 2000;

const told = (words: string, oneLine = false): string => visible(words.slice(0, LONGEST), oneLine);
const entry = (name: string, detail = "", note = "", code = true): Entry => ({ name: told(name, true), detail: told(detail), note: told(note, true), code });

const ENTRIES: Record<Section, (about: About) => Entry[]> = {
  commands: (about) => about.commands.map((one) => entry(`/${one.name}`, one.description, one.argumentHint)),
  tools: (about) => about.tools.map((name) => entry(name.replace(/^mcp__(.+?)__/, "$1 › "))),
  agents: (about) => about.agents.map((one) => entry(one.name, one.description, one.model)),
  skills: (about) => about.skills.map((name) => entry(name)),
  plugins: (about) => about.plugins.map((one) => entry(one.name, one.detail)),
  hooks: (about) => about.hooks.map((one) => entry(words.hook(one.event, one.matcher), one.command, one.source ? words.from(one.source) : "", false)),
};
const SECTIONS = Object.keys(ENTRIES) as Section[];
/** Reported only when a turn starts. */
const LATE: Section[] = ["tools", "skills", "plugins"];

export function HelpPanel({ followed }: { followed: Followed }) {
  const about = useAbout(followed, true);
  const begun = followed.use((shown) => shown.state.init !== null);
  const server = useBridge((known) => known.hello?.version ?? "");
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const shown = SECTIONS.map((section) => ({ section, entries: ENTRIES[section](about).filter((one) => !wanted || `${one.name} ${one.detail} ${one.note}`.toLowerCase().includes(wanted)) }));
  return (
    <>
      <section className="panel-part">
        {words.what.map((sentence) => <p key={sentence}>{sentence}</p>)}
        <div>
          <Button keys="?" onClick={() => openDialog("keys")}>{words.keys}</Button>
        </div>
      </section>
      <section className="panel-part help-lists">
        <input type="search" aria-label={words.filter} placeholder={words.filter} value={filter} onChange={(event) => setFilter(event.target.value)} />
        {shown.map(({ section, entries }) => (!wanted || entries.length > 0) && <List key={section} section={section} entries={entries} open={wanted !== ""} late={!begun && LATE.includes(section)} />)}
        {wanted && shown.every(({ entries }) => entries.length === 0) && <p className="soft">{words.nothing(filter.trim())}</p>}
      </section>
      <footer className="panel-part soft">
        <p>{words.version(told(about.cli, true), told(about.version, true))}</p>
        {about.account["email"] && <p>{words.account}: {told(about.account["email"], true)}</p>}
        <p>{words.server(server)}</p>
      </footer>
    </>
  );
}

function List({ section, entries, open, late }: { section: Section; entries: Entry[]; open: boolean; late: boolean }) {
  return (
    <details key={String(open)} open={open}>
      <summary>
        {words.sections[section]} <span className="soft">{late ? "" : entries.length}</span>
      </summary>
      <p className="soft">{words.about[section]}</p>
      {entries.length === 0 && <p className="soft">{late ? words.notYet : words.none}</p>}
      <ul>
        {entries.slice(0, MOST).map((one, at) => (
          <li key={at}>
            {one.code ? <code>{one.name}</code> : one.name} {one.note && <span className="soft">{one.note}</span>}
            {one.detail && <p className="soft">{section === "hooks" ? <code>{one.detail}</code> : one.detail}</p>}
          </li>
        ))}
      </ul>
      {entries.length > MOST && <p className="soft">{words.more(entries.length - MOST)}</p>}
    </details>
  );
}
