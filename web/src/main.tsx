// Entry point of the page.

import { createRoot } from "react-dom/client";

import { open } from "./state/bridge";
import { watchCluster } from "./state/cluster";
import { showTheme, usePage } from "./state/page";
import { openWhatIsClicked, watchVersion, worker } from "./state/worker";
import "./styles/tokens.css";
import "./styles/base.css";
import { App } from "./views/app";

showTheme(usePage.getState().theme);
createRoot(document.querySelector("#page")!).render(<App />);
watchCluster();
void open();
void worker();
openWhatIsClicked();
watchVersion();
