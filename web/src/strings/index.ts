// All texts of the page, one file per area.

import { composer } from "./composer";
import { conversation } from "./conversation";
import { keys } from "./keys";
import { machines } from "./machines";
import { notices } from "./notices";
import { pages } from "./pages";
import { panels } from "./panels";
import { prompts } from "./prompts";
import { sessions } from "./sessions";
import { shell } from "./shell";
import { connect, start } from "./start";
import { tools } from "./tools";

export const strings = { composer, connect, conversation, keys, machines, notices, pages, panels, prompts, sessions, shell, start, tools };
