// The appearance of the page in this browser.

import { setSideBySide, setTheme, setWrap, usePage, type Theme } from "../../state/page";
import { strings } from "../../strings";
import { Choice } from "./choice";
import "./settings.css";

const words = strings.panels.settings;

export function LookSettings() {
  const theme = usePage((page) => page.theme);
  const sideBySide = usePage((page) => page.sideBySide);
  const wrap = usePage((page) => page.wrap);
  const themes = Object.entries(words.themes).map(([value, name]) => ({ value, name }));
  return (
    <>
      <Choice label={words.theme} value={theme} options={themes} onChoose={async (value) => setTheme(value as Theme)} />
      <Check label={words.sideBySide} checked={sideBySide} onChange={setSideBySide} />
      <Check label={words.wrap} checked={wrap} onChange={setWrap} />
    </>
  );
}

function Check({ label, checked, onChange }: { label: string; checked: boolean; onChange(checked: boolean): void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  );
}
