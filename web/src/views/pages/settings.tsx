// Settings of this browser and defaults for new sessions; in a cluster also the machines. Settings of a session are in its panel.

import { strings } from "../../strings";
import { DefaultSettings } from "../settings/default-settings";
import { LookSettings } from "../settings/look-settings";
import { Machines } from "../settings/machines";
import { Notifications } from "./notifications";
import { Page } from "./page";

const words = strings.pages.settings;

export function Settings() {
  return (
    <Page title={words.title}>
      <Machines />
      <section className="page-section" aria-label={words.look}>
        <h2>{words.look}</h2>
        <LookSettings />
      </section>
      <section className="page-section" aria-label={words.defaults}>
        <h2>{words.defaults}</h2>
        <DefaultSettings />
        <p className="small soft">{words.perSession}</p>
      </section>
      <Notifications />
    </Page>
  );
}
